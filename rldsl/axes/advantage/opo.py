"""Reward minus the mean of its siblings' rewards weighted by their lengths.

Differs from `group_mean`: a long response counts more in the baseline, as it does in the gradient's variance.
Exact: R_i − Σ_j T_j·R_j / Σ_j T_j over the group.
Source: OPO (arXiv:2505.23585), length-weighted baseline; verl 0.9.1 `compute_opo_outcome_advantage`.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, Expr, total
from rldsl.algebra.variables import LENGTH, REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS


class Opo(Estimator):
    needs = {SIBLINGS}

    def estimate(self) -> Expr:
        return REWARD - total(LENGTH * REWARD, GROUP) / total(LENGTH, GROUP)


EXAMPLES = [Example("lengths 1 and 3", {}, [tokens(1, reward=1.0), tokens(1, 1, 1, reward=0.0)],
                    {"advantage": [0.75, -0.25]})]
