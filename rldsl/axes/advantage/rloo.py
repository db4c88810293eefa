"""Reward minus the mean reward of the other siblings.

Differs from `group_mean`: the baseline leaves the response itself out, so the estimate is unbiased; it is
G/(G−1) times `group_mean`. A group cut to one response gives 0.
Source: RLOO, Kool et al. (2019); Ahmadian et al. (arXiv:2402.14740), equation 5.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, Expr, count, gt, mean, where
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS


class Rloo(Estimator):
    needs = {SIBLINGS}

    def estimate(self) -> Expr:
        n = count(REWARD, GROUP)
        return where(gt(n, 1), (REWARD - mean(REWARD, GROUP)) * n / (n - 1), 0.0)


EXAMPLES = [Example("two of four", {}, rewards(1.0, 1.0, 0.0, 0.0), {"advantage": [2 / 3, 2 / 3, -2 / 3, -2 / 3]}),
            Example("a group cut to one", {}, rewards(1.0, None), {"advantage": [0.0, None]})]
