"""A heavy tail: the share of responses that take longer than t falls as a power of t.

Exact: P(longer than t) = (minimum/t)^α for t above the minimum; the mean is α·minimum/(α − 1), infinite for α ≤ 1.
Differs from `lognormal`: the slowest response of a batch can outlast all others together.
Source: Pareto (1896); StepFun reports 5 % of the samples at 80 % of the cost of generation, which is α near 1.08.
"""

from __future__ import annotations

import math
from typing import Annotated

from rldsl.axes.base import Latency
from rldsl.axes.choice import Example
from rldsl.axes.types import Bound, Seconds


class Pareto(Latency):
    positional = 1
    minimum: Seconds  # no response is quicker
    alpha: Annotated[float, Bound(ge=0.1)] = 1.5  # the power; smaller is heavier

    def quantile(self, share: float) -> float:
        return self.minimum * (1 - share) ** (-1 / self.alpha)

    def mean(self) -> float:
        return self.alpha * self.minimum / (self.alpha - 1) if self.alpha > 1 else math.inf


EXAMPLES = [Example("three quarters within twice the minimum at α = 2", {"minimum": 10.0, "alpha": 2.0},
                    [{"share": 0.75}, {"share": 0.99}, {"mean": True}], {"seconds": [20.0, 100.0, 20.0]}),
            Example("no mean at α = 1", {"minimum": 10.0, "alpha": 1.0}, [{"share": 0.9}], {"seconds": [100.0]})]
