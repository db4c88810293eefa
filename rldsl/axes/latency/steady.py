"""Every response takes the same time.

Differs from `lognormal`: no tail, so that nothing waits for the slowest.
Source: the limit in which every schedule only pays for what it does not overlap.
"""

from __future__ import annotations

from rldsl.axes.base import Latency
from rldsl.axes.choice import Example
from rldsl.axes.types import Seconds


class Steady(Latency):
    positional = 1
    seconds: Seconds  # of every response

    def quantile(self, share: float) -> float:
        return self.seconds

    def mean(self) -> float:
        return self.seconds


EXAMPLES = [Example("30 s, early and late", {"seconds": 30.0}, [{"share": 0.1}, {"share": 0.9}, {"mean": True}],
                    {"seconds": [30.0, 30.0, 30.0]})]
