"""A streaming engine with nothing in flight, asked for a whole batch of answers: what evaluation needs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from rldsl.diagnostics import Diagnostic

from .errors import RunError
from .protocols import StreamingRollout
from .trajectory import Request, SamplingOptions, Trajectory

STALL = 600.0
"""Seconds without any news after which a run is ended."""


class Answers:
    """Implements RolloutEngine over a StreamingRollout."""

    def __init__(self, stream: StreamingRollout, stall: float = STALL):
        self.stream, self.stall = stream, stall

    @property
    def version(self) -> int:
        """Of the weights that sample."""
        return self.stream.version

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False) -> list[Trajectory]:
        """See RolloutEngine. RunError RL604 where no answer comes for too long."""
        order = {(r.group, r.first + s): i for i, (r, s) in enumerate(
            (r, s) for r in requests for s in range(r.siblings))}
        self.stream.start(requests, replace(options, temperature=0.0) if greedy else options, batch=batch)
        found: list[Trajectory] = []
        last = time.monotonic()
        while len(found) < len(order):
            new = self.stream.poll(1.0)
            last = time.monotonic() if new else last
            if time.monotonic() - last > self.stall:
                raise stalled(f"{len(order) - len(found)} of {len(order)} answers", self.stall)
            found += new
        return sorted(found, key=lambda t: order[t.group, t.sibling])


def stalled(what: str, seconds: float) -> RunError:
    """RL604: nothing happened for that long."""
    return RunError(Diagnostic("RL604", f"nothing has happened for {seconds:g} seconds; waiting for {what}",
                               why="an engine that is alive finishes something in that time",
                               fix="look at the engine's log, then `rldsl resume` this run"))
