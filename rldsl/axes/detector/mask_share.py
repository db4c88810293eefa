"""The distribution axis masks much of the batch: what was paid for is not trained.

Looks at the tokens whose correction d is exactly 0. Differs from `clip_share`: that one is about the gate.
Source: IcePop (Ring-1T) and its kin, which mask what they cannot correct; the share is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Fraction

ZERO = "correction/zero"


class MaskShare(Detector):
    reads = (ZERO,)
    remedy = "bring sampler and trainer closer (alignment, less lag), or widen the band of the correction"
    above: Fraction = 0.2  # share of tokens with d = 0

    def sign(self, seen: Seen) -> bool:
        return seen.now[ZERO] > self.above

    def evidence(self, seen: Seen) -> str:
        return f"the distribution masks {seen.now[ZERO]:.0%} of the tokens"

    def cause(self, seen: Seen) -> str:
        return "sampler and trainer give these tokens very different probabilities"


EXAMPLES = [
    Example("half is masked", batch=[{ZERO: 0.5}] * 5, expect={"speaks": [5]}),
    Example("2 ‰ are masked", batch=[{ZERO: 0.002}] * 12, expect={"speaks": []}),
]
