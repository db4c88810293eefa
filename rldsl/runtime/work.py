"""One batch in the making: the responses there are, what is known of them, and what became of each prompt."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .batch import Batch, join
from .ledger import Draw
from .prompts import Problem
from .structure import Key, State
from .tally import Tally
from .trajectory import Trajectory

SAMPLED, TRAINED, FILTERED, UNSCORED, LEFT = "sampled", "trained", "filtered", "unscored", "left"
RETIRED = "retired"
"""What can become of a prompt: it was sampled and nothing more; it reached an update; a group filter dropped it; no
response had a score; every response was dropped by a choice; every response was given up while it was written."""

RESPONSES = "responses"
"""The count of sampled responses, in `Work.counts`; the other counts are reported under their own names."""


@dataclass
class Work:
    """What the nodes of the graph read and write for one batch.

    `table` holds the responses still in the batch; its `rows` are positions in `trajectories`. `statistics` is the
    table that advantages were taken over. `judged` holds what models said of each response of the table, by the label
    of the score, until it is scored. `baseline` holds the greedy responses that rewards are compared with, and `probes`
    continuations that are only scored, where there are any; `states` says what each of these continues. Keys of
    `draws`, `problems` and `fates` are group numbers.
    """

    batch: int
    wanted: int = 0
    trajectories: list[Trajectory] = field(default_factory=list)
    table: Batch | None = None
    statistics: Batch | None = None
    baseline: Work | None = None
    judged: dict[str, list[float | None]] = field(default_factory=dict)
    probes: Work | None = None
    states: dict[Key, tuple[State, ...]] = field(default_factory=dict)
    draws: dict[int, Draw] = field(default_factory=dict)
    problems: dict[int, Problem] = field(default_factory=dict)
    fates: dict[int, str] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def rows(self) -> list[Trajectory]:
        """The trajectories of the table, in its order."""
        return [self.trajectories[i] for i in self.table.rows]

    def groups(self) -> list[int]:
        """The groups still in the table, in order."""
        return list(dict.fromkeys(self.table.groups)) if self.table is not None else []

    def dropped(self, before: Sequence[int], fate: str) -> None:
        """Notes what became of the groups that were there before and are not there now."""
        here = set(self.groups())
        self.fates |= {g: fate for g in before if g not in here}

    def include(self, *others: Work) -> None:
        """Adds other rounds of the same batch, or groups that were answered one by one."""
        trajectories, rows = list(self.trajectories), list(self.table.rows) if self.table is not None else []
        tables = [self.table] if rows else []
        for other in others:
            moved = [len(trajectories) + i for i in other.table.rows]
            tables += [other.table] if moved else []
            trajectories += other.trajectories
            rows += moved
            self._add(other)
        self.trajectories = trajectories
        if tables:
            self.table = join(tables, rows) if len(tables) > 1 else replace(tables[0], rows=tuple(rows))
        elif others:
            self.table = replace(others[-1].table, rows=())

    def _add(self, other: Work) -> None:
        if other.baseline is not None:
            self.baseline = self.baseline or Work(self.batch)
            self.baseline.include(other.baseline)
        if other.probes is not None:
            self.probes = self.probes or Work(self.batch)
            self.probes.include(other.probes)
        self.states |= other.states
        self.draws |= other.draws
        self.problems |= other.problems
        self.fates |= other.fates
        self.tally.include(other.tally)
        self.counts.update(other.counts)
        for kind, spent in other.seconds.items():
            self.seconds[kind] = self.seconds.get(kind, 0.0) + spent

    @contextmanager
    def timed(self, kind: str) -> Iterator[None]:
        """Adds the wall time of a node to its kind."""
        start = time.perf_counter()
        yield
        self.seconds[kind] = self.seconds.get(kind, 0.0) + time.perf_counter() - start
