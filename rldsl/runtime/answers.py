"""A streaming engine with nothing in flight, asked for a whole batch of answers: what evaluation needs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
        """See RolloutEngine. RunError RL604 where no answer comes and none gets longer for too long."""
        order = {(r.group, r.first + s): i for i, (r, s) in enumerate(
            (r, s) for r in requests for s in range(r.siblings))}
        self.stream.start(requests, replace(options, temperature=0.0) if greedy else options, batch=batch)
        found: dict[int, Trajectory] = {}
        last = time.monotonic()
        while len(found) < len(order):
            new = self.stream.poll(1.0)
            last = time.monotonic() if new else last
            if time.monotonic() - max(last, self.stream.moved) > self.stall:
                missing = [f"{g}.{s}" for (g, s), place in order.items() if place not in found]
                raise stalled(f"{len(missing)} of {len(order)} answers, {missing[0]} the first of them", self.stall)
            for t in new:
                found[_place(order, found, t)] = t
        return [found[place] for place in range(len(order))]


def _place(order: Mapping[tuple[int, int], int], found: Mapping[int, Trajectory], t: Trajectory) -> int:
    """Where an answer belongs. RunError RL610 for one that nobody waits for."""
    place = order.get(t.key)
    if place is None or place in found:
        raise RunError(Diagnostic("RL610", f"response {t.group}.{t.sibling} came back and is not open",
                                  why="group statistics over the wrong rows train on noise",
                                  fix="this is a defect of the rollout engine; report it with the journal"))
    return place


def stalled(what: str, seconds: float) -> RunError:
    """RL604: nothing happened for that long."""
    return RunError(Diagnostic("RL604", f"nothing has happened for {seconds:g} seconds; waiting for {what}",
                               why="an engine that is alive finishes something in that time",
                               fix="look at the engine's log, then `rldsl resume` this run"))
