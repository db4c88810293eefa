"""What is in flight: responses that are awaited, how long already, and what may come back of them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from rldsl.diagnostics import Diagnostic

from .errors import RunError
from .pool import Group
from .trajectory import Prefix, Trajectory

Clock = Mapping[tuple[int, int], Sequence[float]]
"""{(group, sibling): seconds in flight before the last pause, and when it was last begun; infinite while paused}."""
NAMED = 3
"""Responses that a message names."""


def in_flight(clock: Clock) -> str:
    """`16 responses in flight: 3.0 and 3.1 for 41 s, …`, the oldest first; "" for none."""
    now = time.monotonic()
    ages = sorted(((spent + now - since, key) for key, (spent, since) in clock.items() if since < math.inf),
                  key=lambda each: (-each[0], each[1]))
    named = ", ".join(f"{group}.{sibling} for {age:.0f} s" for age, (group, sibling) in ages[:NAMED])
    more = ", …" if len(ages) > NAMED else ""
    return f"{len(ages)} responses in flight ({named}{more})" if ages else ""


def require_open(group: Group | None, number: int, sibling: int, prompt: tuple[int, ...],
                 found: Trajectory | Prefix) -> None:
    """RunError RL610 for what nobody waits for, or what does not go on, token for token, from where it was."""
    if group is None or sibling not in group.open or prompt != group.request.prompt:
        raise _refused(f"response {number}.{sibling} came back and is not open",
                       "group statistics over the wrong rows train on noise")
    begun = group.open[sibling].prefix
    n = len(begun.tokens)
    if (found.tokens[:n], found.logps[:n], found.versions[:n]) != (begun.tokens, begun.logps, begun.versions):
        raise _refused(f"response {number}.{sibling} came back with another beginning than it went on from",
                       "tokens that were not sampled as they stand would be trained")


def _refused(what: str, why: str) -> RunError:
    return RunError(Diagnostic("RL610", what, why=why,
                               fix="this is a defect of the rollout engine; report it with the journal"))
