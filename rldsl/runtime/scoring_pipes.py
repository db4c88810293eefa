"""Processes that score beside the one that asks them: started here, two pipes to each, never blocking."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from .scoring_process import Link, ScoringProcess, Setup

KILL_DEADLINE = 10.0
COMMAND = (sys.executable, "-P", "-m", "rldsl.runtime.scoring_worker")


class Asked(Protocol):
    """Something behind a PipeLink that may have more to write."""

    link: Link
    unsent: bytearray
    broken: bool

    def push(self) -> None:
        """Writes what is taken."""


One = TypeVar("One", bound=Asked)


@dataclass
class PipeLink:
    """A process of this machine and its standard input and output."""

    process: subprocess.Popen[bytes]

    def write(self, data: bytearray) -> bool:
        """See Link."""
        try:
            while data:
                del data[:os.write(self.process.stdin.fileno(), data)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return False
        return True

    def read(self) -> bytes | None:
        """See Link."""
        try:
            return os.read(self.process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return None

    def kill(self) -> str:
        """See Link."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = self.process.wait(KILL_DEADLINE)
        self.process.stdin.close()
        self.process.stdout.close()
        return f"by signal {-status}" if status < 0 else f"with exit status {status}"


def start(setup: Setup) -> PipeLink:
    """Starts a process and returns at once."""
    path = [*setup.path, *(entry or os.getcwd() for entry in sys.path)]
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": os.pathsep.join(path)}
    with open(setup.output or os.devnull, "ab") as output:
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output,
                                   env=environment, start_new_session=True, bufsize=0)
    for pipe in (process.stdin, process.stdout):
        os.set_blocking(pipe.fileno(), False)
    return PipeLink(process)


def news(asked: Sequence[One], seconds: float) -> list[One]:
    """Who has something to read, as soon as anybody has, or after `seconds`; writes meanwhile what is taken."""
    poll, readers, writers = select.poll(), {}, {}
    for each in asked:
        reader, writer = each.link.process.stdout.fileno(), each.link.process.stdin.fileno()
        poll.register(reader, select.POLLIN)
        readers[reader] = each
        if each.unsent and not each.broken:
            poll.register(writer, select.POLLOUT)
            writers[writer] = each
    found = []
    for file, _ in poll.poll(1000 * seconds):
        if file in writers:
            writers[file].push()
        else:
            found.append(readers[file])
    return found


@dataclass
class Beside:
    """Implements `Site`: processes of this machine."""

    def start(self, setup: Setup, place: int) -> PipeLink:
        """See Site."""
        return start(setup)

    def wait(self, processes: Sequence[ScoringProcess], seconds: float) -> Sequence[ScoringProcess]:
        """See Site."""
        return news(processes, seconds)

    def close(self) -> None:
        """See Site: every process is ended on its own."""
