"""Most of a low-rank addition is lost where it is merged into weights of a coarse dtype.

Looks at the norm of what rounding takes from the additions, over their norm: 1 + 0.001 in bfloat16 is 1, and all is
lost. An addition begins at 0 and grows, so that a run's first batches lose most.
Source: LoRA (arXiv:2106.09685), equation 3, for the merged weight; the share is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Fraction

LOST = "lora/rounded_away"


class LoraRounding(Detector):
    code = "RL515"
    reads = (LOST,)
    remedy = "write model { dtype: float32 }, or train the weights themselves"
    above: Fraction = 0.5  # share of the additions' norm

    def sign(self, seen: Seen) -> bool:
        return seen.now[LOST] > self.above

    def evidence(self, seen: Seen) -> str:
        return f"rounding takes {seen.now[LOST]:.0%} of the low-rank additions"

    def cause(self, seen: Seen) -> str:
        return "the weights that sample and are trained keep fewer bits than the additions need"


EXAMPLES = [
    Example("all of it is lost", batch=[{LOST: 1.0}] * 6, expect={"speaks": [5]}),
    Example("it has outgrown the rounding", batch=[{LOST: 0.9}] * 4 + [{LOST: 0.1}] * 6, expect={"speaks": []}),
]
