"""One scoring process as the pool sees it: what it was sent, what it answered, when it is overdue."""

from __future__ import annotations

import json
import pickle
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .scoring_worker import HEADER

START_DEADLINE = 120.0

Job = tuple[int, int, str, str, Any]
Reply = tuple[int, float | None, str | None, float]


@dataclass(frozen=True)
class Setup:
    """What every scoring process of a pool is started with. `path` goes before `sys.path`, `output` (append)
    takes what scorers print; without it their printing is thrown away. `timeout` in seconds per job."""

    scorers: tuple[tuple[str, dict[str, Any]], ...]
    timeout: float
    memory_bytes: int
    path: tuple[str, ...] = ()
    output: Path | None = None


class Link(Protocol):
    """The way to a process that runs `scoring_worker`, and the process itself. Nothing here waits, but for `kill`."""

    def write(self, data: bytearray) -> bool:
        """Takes off `data` what goes out now; False where nobody reads it any more."""

    def read(self) -> bytes | None:
        """What has come; b"" at the end of all output, None where there is nothing now."""

    def kill(self) -> str:
        """Ends the process and everything it started; how it ended, in words."""


@dataclass
class ScoringProcess:
    """A started process. `jobs` are the indices sent and not yet answered, in the order they are worked
    on."""

    setup: Setup
    link: Link
    since: float
    ready: bool = False
    broken: bool = False
    failed: str | None = None
    jobs: deque[int] = field(default_factory=deque)
    unsent: bytearray = field(default_factory=bytearray)
    unread: bytearray = field(default_factory=bytearray)

    @property
    def deadline(self) -> float:
        """When it is overdue, on the monotonic clock; infinite while it has nothing to do."""
        if not self.ready:
            return self.since + START_DEADLINE
        return self.since + self.setup.timeout if self.jobs else float("inf")

    def send(self, jobs: Sequence[Job]) -> None:
        """Hand over jobs; the first one's time starts now."""
        self.jobs.extend(job[0] for job in jobs)
        self.since = time.monotonic()
        self._queue(list(jobs))
        self.push()

    def push(self) -> None:
        """Write what is taken."""
        if self.unsent and not self.link.write(self.unsent):
            self.broken = True

    def pull(self) -> list[Reply]:
        """The scores that have come in since. Marks the process broken at the end of its output."""
        data = self.link.read()
        if data is None:
            return []
        self.broken |= not data
        self.unread += data
        *lines, rest = self.unread.split(b"\n")
        self.unread = bytearray(rest)
        replies = [reply for line in lines if (reply := self._reply(bytes(line)))]
        if lines:
            self.since = time.monotonic()
        return replies

    def kill(self) -> str:
        """End it and everything it started; how it ended, in words."""
        return self.link.kill()

    def _queue(self, message: Any) -> None:
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        self.unsent += HEADER.pack(len(data)) + data

    def _reply(self, line: bytes) -> Reply | None:
        """One line understood. Anything but the answer to the job in hand means the process cannot be
        trusted."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            self.ready, self.failed = "ready" in message, message.get("failed")
            return None
        if self.broken or not isinstance(message, list) or not self.jobs or message[0] != self.jobs[0]:
            self.broken = True
            return None
        self.jobs.popleft()
        return tuple(message)


class Site(Protocol):
    """Where the processes of a pool run."""

    def start(self, setup: Setup, place: int) -> Link:
        """Starts the process of one place of the pool, where none runs, and returns at once."""

    def wait(self, processes: Sequence[ScoringProcess], seconds: float) -> Sequence[ScoringProcess]:
        """Who may have something to pull, as soon as anybody has, or after `seconds`; pushes meanwhile."""

    def close(self) -> None:
        """Ends what is left, once every process was killed."""


def start_process(setup: Setup, site: Site, place: int) -> ScoringProcess:
    """Start a process and return at once; it is `ready` when its first reply has been pulled."""
    started = ScoringProcess(setup, site.start(setup, place), time.monotonic())
    started._queue({"scorers": setup.scorers, "timeout": setup.timeout, "memory_bytes": setup.memory_bytes})
    started.push()
    return started
