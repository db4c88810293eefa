"""Reward minus its group's mean, divided by the mean.

Differs from `group_norm`: a rare success is worth 1/p, not 1/√p, so hard prompts weigh more.
Exact: (R − mean) / mean; a group whose mean is 0 gives 0.
Source: MaxRL (arXiv:2602.02710), the mean-normalised estimator.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, Expr, equal, mean, where
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS


class MaxRl(Estimator):
    needs = {SIBLINGS}

    def estimate(self) -> Expr:
        baseline = mean(REWARD, GROUP)
        return where(equal(baseline, 0.0), 0.0, (REWARD - baseline) / baseline)


EXAMPLES = [
    Example("one of four", {}, rewards(1.0, 0.0, 0.0, 0.0), {"advantage": [3.0, -1.0, -1.0, -1.0]}),
    Example("mean 0 gives 0", {}, rewards(0.0, 0.0), {"advantage": [0.0, 0.0]}),
]
