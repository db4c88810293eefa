"""Reward minus the mean reward of the whole batch, divided by the batch's standard deviation.

Differs from `batch_mean`: the size of a step no longer depends on the scale of the reward.
Exact: (R − mean) / (std + eps) over the responses of the batch; a batch without spread gives exactly 0.
Source: REINFORCE++ (arXiv:2501.03262), global advantage normalisation.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import UPDATE, Expr, gt, mean, std, where
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.types import NonNegative


class BatchNorm(Estimator):
    eps: NonNegative = 1e-8  # added to the std
    std: Literal["population", "sample"] = "population"  # which spread

    def estimate(self) -> Expr:
        spread = std(REWARD, UPDATE, self.std)
        return where(gt(spread, 0.0), (REWARD - mean(REWARD, UPDATE)) / (spread + self.eps), 0.0)


EXAMPLES = [
    Example("one mean and one std over both prompts", {"eps": 0.0}, rewards(1.0, 0.0) + rewards(3.0, 4.0, prompt="q"),
            {"advantage": [-0.6324555, -1.2649111, 0.6324555, 1.2649111]}),
    Example("no spread, no signal", {"eps": 0.0}, rewards(2.0, 2.0), {"advantage": [0.0, 0.0]}),
]
