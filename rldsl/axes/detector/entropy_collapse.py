"""The policy has become almost deterministic while much is still answered wrongly: it explores no more.

Looks at the sampled entropy against that of the run's first batches, and at the spread of the scores: right-or-wrong
scores of which 20 to 80 % are right spread by 0.4 or more. With less, a low entropy is success, or `no_signal`.
Source: DAPO (arXiv:2503.14476), section 3.1, which describes the collapse; the share is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import OpenFraction, Positive

ENTROPY, SPREAD = "entropy/sampled", "reward/spread"


class EntropyCollapse(Detector):
    reads = (ENTROPY, SPREAD)
    remedy = ("raise the gate's upper bound, add entropy(coef) to the gate, sample with a higher temperature, or lower "
              "the learning rate")
    below: OpenFraction = 0.05  # of the mean over the first batches
    spread: Positive = 0.4  # standard deviation of the scores, at least

    def sign(self, seen: Seen) -> bool:
        if not seen.first:
            return False
        return seen.last[ENTROPY] < self.below * seen.first[ENTROPY] and seen.last[SPREAD] >= self.spread

    def evidence(self, seen: Seen) -> str:
        return (f"the entropy is {seen.last[ENTROPY]:.2g} nats a token, {seen.last[ENTROPY] / seen.first[ENTROPY]:.0%} "
                f"of its beginning, while scores spread by {seen.last[SPREAD]:.2g}")

    def cause(self, seen: Seen) -> str:
        return "siblings that are all alike cannot be compared, so what is wrong now stays wrong"


def _history(*entropies: float, spread: float = 0.5) -> list[dict[str, float]]:
    return [{ENTROPY: e, SPREAD: spread} for e in entropies]


EXAMPLES = [
    Example("to 1 % while scores differ", batch=_history(*[1.0] * 5, *[0.01] * 9), expect={"speaks": [14]}),
    Example("sharper, not collapsed", batch=_history(*[1.0] * 5, *[0.2] * 12), expect={"speaks": []}),
    Example("deterministic and mostly right", batch=_history(*[1.0] * 5, *[0.001] * 12, spread=0.2),
            expect={"speaks": []}),
]
