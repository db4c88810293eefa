"""Normalise every part of the reward in its group before adding them up, then whiten the sum.

Differs from `group_norm`: a part with a wide spread does not drown the others, and the weights say how much
each counts.
Exact: A_i = Σ_k w_k·(R_ik − mean R_k)/(std R_k + eps) over the weighted terms k of the feedback, then minus the
mean and over the std of all action tokens of the batch. A part without spread in a group adds 0.
Source: GDPO (arXiv:2601.05242); verl 0.9.1 `compute_gdpo_outcome_advantage`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, UPDATE, Expr, gt, lift, mean, std, where
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import VectorEstimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import NonNegative, Positive


class Gdpo(VectorEstimator):
    needs = {SIBLINGS}
    std: Literal["population", "sample"] = "sample"  # which spread, of a part and of the tokens
    eps: NonNegative = 1e-6  # added to each part's std
    whiten_eps: Positive = 1e-8  # added to the tokens' variance, inside the root

    def combine(self, parts: tuple[tuple[float, Expr], ...]) -> Expr:
        summed: Expr = lift(0.0)
        for weight, part in parts:
            spread = std(part, GROUP, self.std)
            summed = summed + weight * where(gt(spread, 0.0), (part - mean(part, GROUP)) / (spread + self.eps), 0.0)
        per_token = TOKENS * summed
        spread = std(per_token, UPDATE, self.std)
        return (per_token - mean(per_token, UPDATE)) / (spread * spread + self.whiten_eps) ** 0.5


_batch = [{**r, "scores": {"verify": v, "format": f}}
          for r, v, f in zip(rewards(1.0, 0.0), (1.0, 0.0), (0.5, 0.5), strict=True)]
EXAMPLES = [Example("a part without spread adds nothing", {}, _batch, {"advantage": [0.7071068, -0.7071068]},
                    {"feedback": 'verify(exact) + 3 * format("x")'})]
