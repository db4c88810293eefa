"""A sweep whose points are chosen one after another: trials proposed by a strategy, each a point with all of its seeds.

What a strategy knows is what the expansion's own journal says, so a search that was killed goes on as it would have.
"""

from __future__ import annotations

import importlib
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from rldsl.compiler.canonical import read
from rldsl.runtime.folder import FINISHED
from rldsl.runtime.journal import read_journal

from .driver import PRUNED, REUSED, Driver, Outcome, Tell
from .expansion import READY, Expansion, Line, Point
from .measure import measure
from .registry import finished, folder_of

COMPLETE, FAILED = "complete", "failed"
ENDED = "pruned"
EVENT = "trials"
SECONDS = 2.0
"""Between two looks at how running trials stand: each reads their journals."""


@dataclass(frozen=True)
class Trial:
    """A point that was tried: its number in the grid, from 0, how it ended, the mean of the metric over its seeds after
    the last batch, and the same after every batch that all of them have reached."""

    index: int
    state: str
    value: float | None = None
    curve: Mapping[int, float] = field(default_factory=dict)


class Strategy(Protocol):
    """Chooses points. Made with the grid's lines and the choice's own arguments."""

    def propose(self, told: Sequence[Trial], number: int, free: Collection[int]) -> list[int]:
        """Up to `number` points of `free` to try next; the same for the same trials."""

    def behind(self, told: Sequence[Trial], curve: Mapping[int, float]) -> bool:
        """Whether a trial with this curve shall end."""


def strategy_of(expansion: Expansion) -> Strategy:
    """The expansion's strategy. RecipeError RL407 where its package is missing."""
    target, arguments = read(expansion.search).strategy()
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)(expansion.space, **arguments)


def coordinates(index: int, space: Sequence[Line]) -> list[int]:
    """A point's place on each line."""
    out = []
    for line in reversed(space):
        index, place = divmod(index, line.size)
        out.append(place)
    return out[::-1]


def index_of(places: Sequence[int], space: Sequence[Line]) -> int:
    """The inverse of `coordinates`."""
    index = 0
    for place, line in zip(places, space, strict=True):
        index = index * line.size + place
    return index


def told(home: Path) -> list[Trial]:
    """The trials that the expansion's journal holds."""
    return [Trial(t["index"], t["state"], t["value"], {int(k): v for k, v in t["curve"].items()})
            for event in read_journal(home) if event.kind == EVENT for t in event.data["trials"]]


@dataclass
class Search:
    """`record` hears of the trials that are over (several at a time where several are run at once), the best so far and
    how many there are."""

    expansion: Expansion
    root: Path
    home: Path
    jobs: int
    tell: Tell
    strategy: Strategy
    record: Callable[[Sequence[Trial], float | None, int], None]
    trials: list[Trial] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    looked: float = 0.0

    def run(self, again: bool) -> list[Outcome]:
        """Tries points until there have been enough, or none is left. KeyboardInterrupt as the driver's."""
        points, seeds = self.expansion.points, len(self.expansion.seeds)
        self.trials = [] if again else told(self.home)
        self._take_up()
        ready = {i for i, p in enumerate(points) if p.state == READY}
        while (left := self.expansion.trials() - len(self.trials)) > 0:
            free = ready - {t.index for t in self.trials}
            number = min(left, max(1, self.jobs // seeds))
            asked = self._first(free) if not self.trials else self.strategy.propose(self.trials, number, free)
            made = self._drive([points[i] for i in asked], again)
            trials = [self._judged(i, made) for i in asked]
            self.trials += trials
            self.record(trials, best(self.trials, self.expansion.search), len(self.trials))
        return self.outcomes

    def _first(self, free: Collection[int]) -> list[int]:
        """The recipe's own point, which others are compared with."""
        names = [p.id for p in self.expansion.points]
        return [i for i in free if names[i] == self.expansion.reference]

    def _take_up(self) -> None:
        """What earlier sessions have tried: finished runs are there to be used, pruned ones stay as they are."""
        points = self.expansion.points
        self._drive([points[t.index] for t in self.trials if t.state == COMPLETE], again=False)
        known = finished(self.root)
        for point in (points[t.index] for t in self.trials if t.state != COMPLETE):
            for job in replace(self.expansion, points=(point,)).jobs():
                name = Path(job.plan).stem.rpartition("-")[0]
                folder = known.get(job.experiment) or folder_of(self.root, name, job.experiment, again=False)
                self._told(Outcome(job, folder, REUSED if job.experiment in known else PRUNED), 0, 0)

    def _drive(self, points: Sequence[Point], again: bool) -> Driver:
        part = replace(self.expansion, points=tuple(points))
        driver = Driver(part, self.root, self.home, self.jobs, self._told, behind=self._behind)
        if points:
            driver.run(again)
        return driver

    def _told(self, outcome: Outcome, number: int, total: int) -> None:
        self.outcomes.append(outcome)
        self.tell(outcome, len(self.outcomes), self.expansion.trials() * len(self.expansion.seeds))

    def _behind(self, driver: Driver) -> list[str]:
        """Points at work whose mean over all of their seeds has fallen behind."""
        if time.monotonic() - self.looked < SECONDS:
            return []
        self.looked = time.monotonic()
        at_work = {t.job.points[0] for t in driver.running}
        return [p.id for p in driver.expansion.points if p.id in at_work
                and self.strategy.behind(self.trials, self._curve(p, driver.folders))]

    def _curve(self, point: Point, folders: Mapping[str, Path]) -> dict[int, float]:
        """The mean over seeds after each batch that all seeds have reached; empty before all have begun."""
        runs = [measure(folders[x], self.expansion.metric).points if x in folders else () for x in
                point.experiments.values()]
        each = [{int(step): value for step, value in points if math.isfinite(value)} for points in runs]
        shared = set(each[0]).intersection(*each)
        return {step: sum(points[step] for points in each) / len(each) for step in sorted(shared)}

    def _judged(self, index: int, driver: Driver) -> Trial:
        point = self.expansion.points[index]
        curve = self._curve(point, driver.folders)
        states = Counter(o.status for o in driver.outcomes if point.id in o.job.points)
        if states[FINISHED] + states[REUSED] == states.total() and curve:
            return Trial(index, COMPLETE, self._value(point, driver.folders), curve)
        return Trial(index, ENDED if states[PRUNED] else FAILED, None, curve)

    def _value(self, point: Point, folders: Mapping[str, Path]) -> float | None:
        values = [measure(folders[x], self.expansion.metric).value for x in point.experiments.values()]
        return None if None in values else sum(values) / len(values)


def best(trials: Sequence[Trial], search: Mapping[str, Any]) -> float | None:
    """The best mean of the complete trials."""
    values = [t.value for t in trials if t.value is not None]
    pick = max if read(search).goal == "maximize" else min
    return pick(values) if values else None


def as_data(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Trials as JSON data."""
    return [asdict(t) for t in trials]
