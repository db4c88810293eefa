"""Reward minus its group's mean, scaled up by the share of the batch that teaches.

Differs from `group_mean`: a batch of mostly uniform groups does not make a smaller step.
Exact: α·(R − mean); `scale: mixed` is the paper's α = B/(B − M) with M the responses of groups whose rewards
are all equal, `nonzero` is verl's α = B / (responses whose reward is not 0). With nothing to teach the
advantage is 0.
Source: GPG (arXiv:2504.02546), the corrected gradient estimate; verl 0.9.1 `compute_gpg_outcome_advantage`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, UPDATE, Expr, equal, gt, highest, lowest, mean, total, where
from rldsl.algebra.variables import RESPONSES, REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS


class Gpg(Estimator):
    needs = {SIBLINGS}
    scale: Literal["mixed", "nonzero"] = "mixed"  # what counts as teaching

    def estimate(self) -> Expr:
        uniform = equal(highest(REWARD, GROUP), lowest(REWARD, GROUP)) if self.scale == "mixed" else equal(REWARD, 0.0)
        left = total(where(uniform, 0.0, RESPONSES), UPDATE)
        return where(gt(left, 0.0), total(RESPONSES, UPDATE) / left * (REWARD - mean(REWARD, GROUP)), 0.0)


_batch = rewards(1.0, 0.0) + rewards(1.0, 1.0, prompt="q")
EXAMPLES = [
    Example("half of the batch is uniform: twice the step", {}, _batch, {"advantage": [1.0, -1.0, 0.0, 0.0]}),
    Example("three of four rewards are not 0", {"scale": "nonzero"}, _batch, {"advantage": [2 / 3, -2 / 3, 0.0, 0.0]}),
]
