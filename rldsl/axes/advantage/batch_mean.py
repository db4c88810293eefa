"""Reward minus the mean reward of the whole batch.

Differs from `group_mean`: the baseline is the same for every prompt, so easy prompts look good.
Source: REINFORCE with a batch baseline; REINFORCE++ (arXiv:2501.03262) before normalisation.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, mean
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards


class BatchMean(Estimator):
    def estimate(self) -> Expr:
        return REWARD - mean(REWARD, UPDATE)


EXAMPLES = [Example("one mean over both prompts", {}, rewards(1.0, 0.0) + rewards(10.0, 8.0, prompt="q"),
                    {"advantage": [-3.75, -4.75, 5.25, 3.25]})]
