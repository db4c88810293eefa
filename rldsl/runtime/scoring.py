"""Score responses in processes that can be killed: a scorer that hangs, dies or eats memory costs one row."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rldsl.axes.base import Scorer
from rldsl.diagnostics import at

from .errors import RunError
from .scoring_pipes import Beside
from .scoring_process import ScoringProcess, Setup, Site, start_process

WINDOW = 64
FEWEST_JUDGED = 8
LARGEST_BATCH = 256
LONGEST_WAIT = 60.0
SPARE_STARTS = 2
PLACE = re.compile(r'File "([^"<]+)", line (\d+)')
OURS = ("scoring_worker.py", "importlib/__init__.py")
"""Files in a traceback that say nothing about a scorer."""


@dataclass(frozen=True)
class ScoreItem:
    """One response to be scored, with its problem's reference answer and metadata."""

    text: str
    answer: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoreResult:
    """One scorer's word on one response. Either `value` (finite) or `error` (traceback or sentence) is
    None."""

    value: float | None
    error: str | None
    seconds: float


class ScoringPool:
    """Processes that score. Use as a context manager, from one thread at a time.

    `timeout` seconds and `memory_bytes` of address space hold for each (response, scorer); whatever breaks
    them leaves that row without that score and the pool as good as before. Rows (responses) with a missing
    score may make up `max_failed` (a share) of the rows of a call, or of the last 64 where a call has fewer;
    eight rows are the least that is judged. `path` is put before `sys.path` for user scorers; `output` is a
    file that takes what they print. Processes start at once, in the background, without torch; scorers are
    imported in them only. They run beside this one, or at another `site`.
    """

    def __init__(self, scorers: Sequence[Scorer], workers: int, timeout: float, memory_bytes: int, *,
                 max_failed: float = 0.2, path: Sequence[str] = (), output: Path | None = None,
                 site: Site | None = None):
        self.setup = Setup(tuple((s.function, dict(s.options)) for s in scorers), timeout, memory_bytes,
                           tuple(path), output)
        self.max_failed = max_failed
        self.first_error: str | None = None
        self._recent: deque[bool] = deque(maxlen=WINDOW)
        self.site = site or Beside()
        self._processes = [start_process(self.setup, self.site, place) for place in range(workers)]

    def score(self, items: Sequence[ScoreItem]) -> list[list[ScoreResult]]:
        """Results by item, then by scorer in the pool's order.

        Raises RunError RL607 where more rows than allowed have no score, as soon as that is certain, or where
        a scorer cannot be imported; the pool can be used again after it.
        """
        round_ = _Round(self, items)
        try:
            return round_.run()
        finally:
            self._recent.extend(round_.failed_row(row) for row in range(len(items)))
            for process in list(self._processes):
                if process.jobs:
                    process.kill()
                    self._replace(process)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()
        self._processes = []
        self.site.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _replace(self, process: ScoringProcess) -> None:
        """Starts another in the place of one that was killed."""
        place = self._processes.index(process)
        self._processes[place] = start_process(self.setup, self.site, place)


class _Round:
    """One call of `score`: what is waiting, what is known, who failed."""

    def __init__(self, pool: ScoringPool, items: Sequence[ScoreItem]):
        self.pool, self.items = pool, items
        self.scorers = len(pool.setup.scorers)
        self.results: list[ScoreResult | None] = [None] * (len(items) * self.scorers)
        self.waiting = deque(range(len(self.results)))
        self.missing = len(self.results)
        self.failed: set[int] = set()
        self.lost_starts = 0
        self.history = list(pool._recent)[max(0, len(pool._recent) - WINDOW + len(items)):]

    @property
    def failures(self) -> int:
        return len(self.failed)

    def failed_row(self, row: int) -> bool:
        return row in self.failed

    def run(self) -> list[list[ScoreResult]]:
        while self.missing:
            self._dispatch()
            self._wait()
            for process in list(self.pool._processes):
                self._inspect(process)
            self._judge()
        return [self.results[i:i + self.scorers] for i in range(0, len(self.results), self.scorers)]

    def _dispatch(self) -> None:
        """Batches shrink as the queue does, so that cheap rows share messages and dear ones share
        processes."""
        for process in self.pool._processes:
            if not process.ready or process.jobs or process.broken:
                continue
            size = min(LARGEST_BATCH, -(-len(self.waiting) // (2 * len(self.pool._processes))))
            batch = [self.waiting.popleft() for _ in range(size)]
            if batch:
                process.send([self._job(index) for index in batch])

    def _job(self, index: int) -> tuple[int, int, str, str, Any]:
        row, scorer = divmod(index, self.scorers)
        item = self.items[row]
        return index, scorer, item.text, item.answer, item.metadata

    def _wait(self) -> None:
        """Until something comes or the earliest deadline passes; then take what is there."""
        earliest = min(process.deadline for process in self.pool._processes)
        seconds = min(LONGEST_WAIT, max(0.0, earliest - time.monotonic()))
        for process in self.pool.site.wait(self.pool._processes, seconds):
            self._record(process.pull())

    def _record(self, replies: Iterable[tuple[int, float | None, str | None, float]]) -> None:
        for index, value, error, seconds in replies:
            self.results[index] = ScoreResult(value, error, seconds)
            self.missing -= 1
            if error is not None:
                self.failed.add(index // self.scorers)
                self.pool.first_error = self.pool.first_error or error

    def _inspect(self, process: ScoringProcess) -> None:
        overdue = time.monotonic() >= process.deadline
        if not (overdue or process.broken or process.failed):
            return
        spent = time.monotonic() - process.since
        delivered = not process.unsent
        how = process.kill()
        self.pool._replace(process)
        if not process.ready:
            self._lost_start(process, how)
        left = list(process.jobs)
        process.jobs.clear()
        if left and delivered:
            self._record([(left.pop(0), None, self._cause(overdue, how), spent)])
        self.waiting.extendleft(reversed(left))

    def _lost_start(self, process: ScoringProcess, how: str) -> None:
        """An import that fails will fail again; a process that was killed gets two more tries."""
        self.lost_starts += 1
        if not process.failed and self.lost_starts <= SPARE_STARTS:
            return
        names = ", ".join(target for target, _ in process.setup.scorers)
        ended = f"their process ended ({how}) before it was ready"
        raise RunError(at("RL607", f"the scorers ({names}) cannot be loaded", None,
                          why=_told(process.failed, process.setup.output) if process.failed else ended,
                          fix="check that the packages they need are installed and import without error"))

    def _cause(self, overdue: bool, how: str) -> str:
        if overdue:
            return f"the scorer took longer than {self.pool.setup.timeout:g} s and was stopped"
        return f"the scorer ended its process ({how})"

    def _judge(self) -> None:
        rows = len(self.history) + len(self.items)
        bad = sum(self.history) + len(self.failed)
        if rows >= FEWEST_JUDGED and bad > self.pool.max_failed * rows and self.failed:
            allowed = f"{self.pool.max_failed:.0%}"
            message = f"{bad} of {rows} responses have no score, more than the allowed {allowed}"
            why = f"the first failure: {_told(self.pool.first_error or '', self.pool.setup.output)}"
            raise RunError(at("RL607", message, None, why=why,
                              fix="correct the scorer, or set feedback { timeout: …, max_failed: … }"))


def _told(error: str, log: Path | None) -> str:
    """A failure in one sentence, with the place in the user's code; a traceback is kept whole in the log."""
    if not error.startswith("Traceback"):
        return error
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(error)
    own = [(name, line) for name, line in PLACE.findall(error) if not name.endswith(OURS)]
    where = f" ({Path(own[-1][0]).name}, line {own[-1][1]})" if own else ""
    rest = f"; the traceback is in {log.name}" if log is not None else ""
    return f"{error.strip().splitlines()[-1]}{where}{rest}"
