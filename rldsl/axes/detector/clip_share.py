"""The gate takes the gradient from most of the tokens that should have one.

Looks at the tokens with a say (advantage, weight and correction are not 0) whose gradient is exactly 0. Differs from
`mask_share`: that one is about the distribution's factor.
Source: PPO (arXiv:1707.06347), section 3, on what clipping leaves out; the share is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Fraction

GATED = "gated"


class ClipShare(Detector):
    reads = (GATED,)
    remedy = "lower the learning rate or the number of updates per batch, or widen the gate's bounds"
    above: Fraction = 0.3  # share of tokens with a say whose gradient is 0

    def sign(self, seen: Seen) -> bool:
        return seen.now[GATED] > self.above

    def evidence(self, seen: Seen) -> str:
        return f"the gate leaves {seen.now[GATED]:.0%} of the tokens without a gradient"

    def cause(self, seen: Seen) -> str:
        return "the policy moves beyond the bounds within one batch, so that most of the batch teaches nothing"


EXAMPLES = [
    Example("half of the tokens are gated", batch=[{GATED: 0.5}] * 5, expect={"speaks": [5]}),
    Example("a usual share", batch=[{GATED: 0.1}] * 12, expect={"speaks": []}),
]
