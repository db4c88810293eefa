"""What a simulation came to: rates, idle shares, the age and the length of what was trained, and the bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rldsl.axes.control import Placement

from .machine import Batch, Costs, Measured, slots


@dataclass(frozen=True)
class Outcome:
    """One system in numbers; None where a number has no meaning.

    `seconds` per batch; `rate` is trained tokens a second. Idle shares: of all devices, of the slots that sample, of
    the devices that train where they do nothing else. Ages are in batches between a response's first token and the
    trainer. `length` and `early` compare the mean length of trained responses, in all batches and in the first tenth,
    with that of launched ones: below 1 short ones are favoured. `kept` is the share of sampled tokens that was trained.
    `bound` is the share of the best possible speed for this work: on devices that do both, the work of sampling and
    training in a row, else the longer of the two.
    """

    name: str
    batches: int
    seconds: float | None
    rate: float
    idle: float
    idle_sampling: float | None
    idle_training: float | None
    age: float | None
    oldest: int | None
    ages: Mapping[int, float]
    length: float | None
    early: float | None
    kept: float | None
    retired: int
    again: int
    bound: float | None
    events: int
    curve: tuple[tuple[float, float], ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON data; the curve is (seconds, trained tokens so far)."""
        return {**vars(self), "ages": {str(age): share for age, share in self.ages.items()},
                "curve": [list(p) for p in self.curve]}


def outcome(name: str, placement: Placement, costs: Costs, m: Measured) -> Outcome:
    """The numbers of one simulation."""
    done = [b for b in m.batches if b.at <= m.end]
    training, tokens = sum(b.seconds for b in done), sum(b.tokens for b in done)
    ages = sum((b.ages for b in done), Counter())
    busy = m.busy + training * placement.trains()
    curve, so_far = [(0.0, 0.0)], 0
    for b in done:
        so_far += b.tokens
        curve.append((b.at, float(so_far)))
    launched = m.launched[1] / m.launched[0] if m.launched[0] else None
    return Outcome(
        name, len(done), m.end / len(done) if done else None, tokens / m.end if m.end else 0.0,
        1 - busy / m.end if m.end else 1.0, 1 - m.used / m.there if m.there else None,
        None if placement.shared() or not m.end else 1 - training / m.end,
        sum(a * n for a, n in ages.items()) / ages.total() if ages else None, max(ages, default=None),
        {age: n / ages.total() for age, n in sorted(ages.items())}, _length(done, launched),
        _length(done[:max(1, len(done) // 10)], launched), tokens / m.sampled if m.sampled else None, m.retired[0],
        m.again, bound(placement, costs, training, sum(b.sampling for b in done)) / m.end if m.end else None, m.events,
        tuple(curve))


def bound(placement: Placement, costs: Costs, training: float, sampling: float) -> float:
    """The least seconds for `training` seconds of the trainer and `sampling` slot-seconds: some of the slots sample
    while the trainer works; what is left is sampled with the slots that there are otherwise."""
    beside, otherwise = (slots(placement, costs, t) for t in (True, False))
    return training + max(0.0, sampling - beside * training) / otherwise


def _length(batches: list[Batch], launched: float | None) -> float | None:
    responses = sum(b.responses for b in batches)
    return sum(b.tokens for b in batches) / responses / launched if responses and launched else None
