"""The critic explains less of the returns than a constant would.

Looks at the explained variance 1 − Var(target − V)/Var(target): 0 is what a constant explains, 1 is everything.
Source: EVPO, which takes the group mean instead of the value at this threshold; the patience is ours.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Batches, Bound

EXPLAINED = "critic/explained_variance"


class BlindCritic(Detector):
    reads = (EXPLAINED,)
    remedy = "warm the critic up (critic { warmup_steps }), raise its learning rate, or use a group baseline"
    patience: Batches = 20  # batches in a row in which the sign must hold
    below: Annotated[float, Bound(le=1)] = 0.0  # explained variance

    def sign(self, seen: Seen) -> bool:
        return seen.now[EXPLAINED] < self.below

    def evidence(self, seen: Seen) -> str:
        return f"the value explains {seen.now[EXPLAINED]:.2f} of the variance of its target"

    def cause(self, seen: Seen) -> str:
        return "a value that is worse than the mean adds noise to every advantage"


EXAMPLES = [
    Example("worse than a constant for 20 batches", batch=[{EXPLAINED: -0.1}] * 20, expect={"speaks": [20]}),
    Example("a critic that has learned something", batch=[{EXPLAINED: -0.1}] * 10 + [{EXPLAINED: 0.4}] * 20,
            expect={"speaks": []}),
]
