"""Logarithms of the times are normal: most responses near the median, a long but not a heavy tail.

Exact: median·exp(σ·z), z standard normal; the mean is median·exp(σ²/2).
Differs from `pareto`: the tail falls faster than any power, so that a batch has no single response that outlasts all.
Source: the usual model of service times; the spread of a real run is read from its journal.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Annotated

from rldsl.axes.base import Latency
from rldsl.axes.choice import Example
from rldsl.axes.types import Bound, Seconds

NORMAL = NormalDist()


class Lognormal(Latency):
    positional = 1
    median: Seconds  # half of the responses are quicker
    sigma: Annotated[float, Bound(ge=0, le=10)] = 1.0  # standard deviation of the logarithm

    def quantile(self, share: float) -> float:
        return self.median * math.exp(self.sigma * NORMAL.inv_cdf(share))

    def mean(self) -> float:
        return self.median * math.exp(self.sigma * self.sigma / 2)


EXAMPLES = [Example("the median, one deviation above it, and the mean", {"median": 60.0, "sigma": 1.0},
                    [{"share": 0.5}, {"share": 0.8413447460685429}, {"mean": True}],
                    {"seconds": [60.0, 60 * 2.718281828459045, 60 * 1.6487212707001282]})]
