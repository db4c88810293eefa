"""The advantage is the reward itself: no baseline.

Differs from `batch_mean`: unbiased also for a single response, with the largest variance.
Source: Williams (1992), REINFORCE.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards


class MonteCarlo(Estimator):
    def estimate(self) -> Expr:
        return REWARD


EXAMPLES = [Example("reward in, advantage out", {}, rewards(1.0, 0.0, -2.0), {"advantage": [1.0, 0.0, -2.0]})]
