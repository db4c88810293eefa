"""The sampler's and the trainer's probabilities of the same tokens lie far apart in the tail.

Looks at the share of tokens with κ = π_old/μ beyond a factor of 2; where log π_old is no column of its own (one update
per batch), at the same of the trained policy's probability. The mean of κ stays near 1 long after the tail has gone.
Source: TIS caps κ at 2, which is the factor here; slime's curves have a mean weight of 1.0000 beside a mean |w − 1| of
2 to 3.6 %. The share is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Fraction

MOVED, KAPPA = "mismatch/tail", "kappa/tail"


class KappaTail(Detector):
    reads = (MOVED,)
    also = (KAPPA,)
    remedy = "align the engines (precision, kernels, templates), bound the lag, or correct with tis or icepop"
    above: Fraction = 0.01  # share of tokens that are off by more than a factor of 2

    def sign(self, seen: Seen) -> bool:
        return tail(seen) > self.above

    def evidence(self, seen: Seen) -> str:
        return f"for {tail(seen):.1%} of the tokens sampler and trainer differ by more than a factor of 2"

    def cause(self, seen: Seen) -> str:
        return "the update weighs what another distribution sampled"


def tail(seen: Seen) -> float:
    """The share of tokens in the tail."""
    return seen.now.get(KAPPA, seen.now[MOVED])


EXAMPLES = [
    Example("one token in twenty", batch=[{MOVED: 0.05}] * 5, expect={"speaks": [5]}),
    Example("the policy has moved since, κ is fine", batch=[{MOVED: 0.05, KAPPA: 0.001}] * 9, expect={"speaks": []}),
]
