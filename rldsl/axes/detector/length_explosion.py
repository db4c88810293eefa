"""Responses grow and the reward does not: length is learned for its own sake.

Looks at the mean length and the mean score against those of the run's first batches. Growth that pays is silent.
Source: Dr. GRPO (arXiv:2503.20783), on lengths that grow with wrong answers; the factor is ours.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Bound

LENGTH, REWARD = "responses/length", "reward/mean"


class LengthExplosion(Detector):
    reads = (LENGTH, REWARD)
    remedy = "use a reduction that does not favour length (token_mean, fixed_budget), or a length penalty (overlong)"
    factor: Annotated[float, Bound(gt=1)] = 2.0  # times the mean length over the first batches

    def sign(self, seen: Seen) -> bool:
        if not seen.first:
            return False
        return seen.last[LENGTH] > self.factor * seen.first[LENGTH] and seen.last[REWARD] <= seen.first[REWARD]

    def evidence(self, seen: Seen) -> str:
        return (f"responses have {seen.last[LENGTH]:.0f} tokens, {seen.last[LENGTH] / seen.first[LENGTH]:.1f} times as "
                f"many as in the beginning, and the mean score went from {seen.first[REWARD]:.3g} to "
                f"{seen.last[REWARD]:.3g}")

    def cause(self, seen: Seen) -> str:
        return "longer responses cost more to sample and to train, and earn nothing here"


def _history(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{LENGTH: n, REWARD: r} for n, r in pairs]


EXAMPLES = [
    Example("three times as long, no better", batch=_history(*[(100, 0.3)] * 5, *[(300, 0.3)] * 9),
            expect={"speaks": [12]}),
    Example("three times as long, and better", batch=_history(*[(100, 0.3)] * 5, *[(300, 0.6)] * 9),
            expect={"speaks": []}),
]
