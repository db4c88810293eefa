"""The sampler's and the trainer's probabilities of the same tokens lie far apart in the tail.

Looks at the 99th percentile of |log κ|, κ = π_old/μ: the mean stays near 1 long after the tail has gone.
Source: TIS caps κ at 2, which is the factor here; slime's curves have a mean weight of 1.0000 beside a mean |w − 1| of
2 to 3.6 %.
"""

from __future__ import annotations

import math
from typing import Annotated

from rldsl.axes.choice import Example
from rldsl.axes.detect import Detector, Seen
from rldsl.axes.types import Bound

TAIL = "kappa/log_abs_p99"


class KappaTail(Detector):
    reads = (TAIL,)
    remedy = "align the engines (precision, kernels, templates), bound the lag, or correct with tis or icepop"
    factor: Annotated[float, Bound(gt=1)] = 2.0  # between the probabilities of one token in a hundred

    def sign(self, seen: Seen) -> bool:
        return seen.now[TAIL] > math.log(self.factor)

    def evidence(self, seen: Seen) -> str:
        return f"for one token in a hundred κ is off by a factor of {math.exp(seen.now[TAIL]):.3g} or more"

    def cause(self, seen: Seen) -> str:
        return "the update weighs what another distribution sampled"


EXAMPLES = [
    Example("a factor of e", batch=[{TAIL: 1.0}] * 5, expect={"speaks": [5]}),
    Example("a factor of 1.05", batch=[{TAIL: 0.05}] * 12, expect={"speaks": []}),
]
