"""Let correctness decide the sign, and length only how a group's correct responses share the credit.

Differs from `group_mean`: a long correct response is never pushed down for its length.
Exact (ours; the paper's weights are of this kind): p̂ the share of correct responses; −p̂ for a wrong one; (1 −
p̂)·|P|·e^{ℓ_i/λ} / Σ_P e^{ℓ_j/λ} for a correct one, ℓ the part of the reward that is not correctness. ℓ is
taken relative to the group's largest and bounded to 20·λ below it.
Source: DRPO (Li et al., 2025), decoupled rewards.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, Expr, gt, highest, ratio_of, total, where
from rldsl.algebra.variables import CORRECT, RESPONSES, REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import CORRECTNESS, SIBLINGS
from rldsl.axes.types import Positive


class Decoupled(Estimator):
    needs = {SIBLINGS, CORRECTNESS}
    lambda_: Positive  # how much of the reward makes e times the weight

    def estimate(self) -> Expr:
        passed = gt(CORRECT, 0.0)
        number = total(where(passed, RESPONSES, 0.0), GROUP)
        share = number / total(RESPONSES, GROUP)
        length = REWARD - CORRECT
        best = highest(where(passed, length, -1e9), GROUP)
        weight = where(passed, ratio_of((length - best) / self.lambda_), 0.0)
        return where(passed, (1.0 - share) * (number * weight / total(weight, GROUP)), -share)


_correct = zip(rewards(0.73, 0.6, 0.2, 0.0, 0.0, 0.0), (1, 1, 1, 0, 0, 0), strict=True)
EXAMPLES = [
    Example("the longest correct response keeps a positive sign", {"lambda_": 1.0},
            [{**r, "correct": float(c)} for r, c in _correct],
            {"advantage": [0.60810, 0.53397, 0.35793, -0.5, -0.5, -0.5]}, tolerance=1e-4),
    Example("no correct response", {"lambda_": 1.0}, rewards(0.0, 0.0), {"advantage": [0.0, 0.0]}),
]
