"""Most responses end at the length limit, before their answer.

Looks at the share of responses that `max_tokens` ended. Differs from `length_explosion`: it needs no growth.
Source: DAPO (arXiv:2503.14476), section 3.4: cut responses are noise in the reward; the share is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Fraction

CUT = "responses/truncated"


class Truncation(Detector):
    reads = (CUT,)
    code = "RL614"
    remedy = "raise sampling's max_tokens"
    above: Fraction = 0.5  # share of responses ended by the limit

    def sign(self, seen: Seen) -> bool:
        return seen.now[CUT] > self.above

    def evidence(self, seen: Seen) -> str:
        return f"{seen.now[CUT]:.0%} of the responses end at max_tokens: {seen.max_tokens}"

    def cause(self, seen: Seen) -> str:
        return "a response that is cut before its answer is scored as a wrong one"


EXAMPLES = [
    Example("three of four are cut", batch=[{CUT: 0.75}] * 5, expect={"speaks": [5]}),
    Example("a half is not more than a half", batch=[{CUT: 0.5}] * 9, expect={"speaks": []}),
]
