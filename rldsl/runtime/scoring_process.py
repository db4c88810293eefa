"""One scoring process and the two pipes to it, never blocking."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .scoring_worker import HEADER

START_DEADLINE = 120.0
KILL_DEADLINE = 10.0
COMMAND = (sys.executable, "-P", "-m", "rldsl.runtime.scoring_worker")

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


@dataclass
class ScoringProcess:
    """A started process. `jobs` are the indices sent and not yet answered, in the order they are worked
    on."""

    setup: Setup
    process: subprocess.Popen[bytes]
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
        """Write what the pipe takes."""
        try:
            while self.unsent:
                del self.unsent[:os.write(self.process.stdin.fileno(), self.unsent)]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.broken = True

    def pull(self) -> list[Reply]:
        """The scores that have come in since. Marks the process broken at the end of its output."""
        try:
            data = os.read(self.process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return []
        self.broken |= not data
        self.unread += data
        *lines, rest = self.unread.split(b"\n")
        self.unread = bytearray(rest)
        replies = [reply for line in lines if (reply := self._reply(bytes(line)))]
        if lines:
            self.since = time.monotonic()
        return replies

    def kill(self) -> int:
        """End it and everything it started; returns its exit status."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = self.process.wait(KILL_DEADLINE)
        self.process.stdin.close()
        self.process.stdout.close()
        return status

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


def start_process(setup: Setup) -> ScoringProcess:
    """Start a process and return at once; it is `ready` when its first reply has been pulled."""
    path = [*setup.path, *(entry or os.getcwd() for entry in sys.path)]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": os.pathsep.join(path)}
    with open(setup.output or os.devnull, "ab") as output:
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output,
                                   env=environment, start_new_session=True, bufsize=0)
    for pipe in (process.stdin, process.stdout):
        os.set_blocking(pipe.fileno(), False)
    started = ScoringProcess(setup, process, time.monotonic())
    started._queue({"scorers": setup.scorers, "timeout": setup.timeout, "memory_bytes": setup.memory_bytes})
    started.push()
    return started
