"""Generalised advantage estimation with one step per marked step of the trajectory.

Differs from `turn_gae`: a step is what was marked as one, and may span several turns or a part of one.
Exact: δ_m = R_m + γV_{m+1} − V_m with R_m the reward inside step m and V_m the value at its first token; A_m =
Σ_l (γλ)^l δ_{m+l}; the critic learns A_m + V_m.
Source: StepPO (arXiv:2604.18401), step-level GAE.
"""

from __future__ import annotations

from rldsl.algebra.expr import STEP, Expr
from rldsl.algebra.units import at_first, unit_gae
from rldsl.algebra.variables import TOKEN_REWARD, VALUE
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_ADVANTAGE, TOKEN_REWARDS, VALUES
from rldsl.axes.types import Fraction


class StepGae(Estimator):
    gives = {VALUES, TOKEN_ADVANTAGE, TOKEN_REWARDS}
    gamma: Fraction = 1.0  # discount per step
    lambda_: Fraction = 0.95  # 0 is the one-step TD error, 1 the return minus V

    def estimate(self) -> Expr:
        return unit_gae(TOKEN_REWARD, VALUE, self.gamma, self.gamma * self.lambda_, STEP)

    def value_target(self) -> Expr:
        return self.estimate() + at_first(VALUE, STEP)


EXAMPLES = [Example("λ = 1 is return minus value, per step", {"lambda_": 1.0, "gamma": 0.5},
                    [tokens(1, 1, 1, values=[0.25, 9.0, 0.5], steps=[0, 0, 1])], {"advantage": [[0.25, 0.25, 0.5]]})]
