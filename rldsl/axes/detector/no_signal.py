"""Nothing to learn from: advantages are 0 almost everywhere, so that the policy's term has no gradient.

Differs from `truncation`: that one looks for a cause, this one at the effect, whatever its cause is.
Source: the runtime's seventh invariant; DAPO (arXiv:2503.14476), section 3.2, on groups of equal scores.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import OpenFraction

ZERO, CUT, REWARD = "advantage/zero", "responses/truncated", "reward/mean"


class NoSignal(Detector):
    reads = (ZERO,)
    code = "RL613"
    remedy = "make the task easier or harder, start from a better model, or sample with a higher temperature"
    share: OpenFraction = 1.0  # of responses whose advantages are all 0, at least

    def sign(self, seen: Seen) -> bool:
        return seen.now[ZERO] >= self.share

    def evidence(self, seen: Seen) -> str:
        return f"{seen.now[ZERO]:.0%} of the responses have advantages of 0: there is nothing to learn from"

    def cause(self, seen: Seen) -> str:
        if seen.now.get(CUT) == 1.0:
            return "all responses are cut at the limit"
        level = seen.now.get(REWARD)
        return "equal rewards stand out from nothing" + ("" if level is None else f"; the mean score is {level:g}")


EXAMPLES = [
    Example("the fifth batch of five without an advantage", batch=[{ZERO: 1.0}] * 6, expect={"speaks": [5]}),
    Example("one batch with an advantage begins the count again", batch=[{ZERO: 1.0}] * 4 + [{ZERO: 0.9}] * 4,
            expect={"speaks": []}),
]
