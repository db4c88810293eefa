"""Generalised advantage estimation with one step per turn: all tokens of a turn share its advantage.

Differs from `gae`: the value is read where a turn begins, and λ reaches back turns, not tokens.
Exact: δ_k = R_k + γV_{k+1} − V_k with R_k the reward inside turn k and V_k the value at its first token; A_k =
Σ_l (γλ)^l δ_{k+l}; the critic learns A_k + V_k.
Source: Turn-PPO (arXiv:2512.17008), turn-level advantage estimation.
"""

from __future__ import annotations

from rldsl.algebra.expr import TURN, Expr
from rldsl.algebra.units import at_first, unit_gae
from rldsl.algebra.variables import TOKEN_REWARD, VALUE
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_ADVANTAGE, TOKEN_REWARDS, VALUES
from rldsl.axes.types import Fraction


class TurnGae(Estimator):
    gives = {VALUES, TOKEN_ADVANTAGE, TOKEN_REWARDS}
    gamma: Fraction = 1.0  # discount per turn
    lambda_: Fraction = 0.95  # 0 is the one-step TD error, 1 the return minus V

    def estimate(self) -> Expr:
        return unit_gae(TOKEN_REWARD, VALUE, self.gamma, self.gamma * self.lambda_, TURN)

    def value_target(self) -> Expr:
        return self.estimate() + at_first(VALUE, TURN)


EXAMPLES = [Example("two turns, one TD step each", {"lambda_": 0.5},
                    [tokens(1, 1, 1, values=[0.5, 9.0, 0.75], turns=[0, 0, 1])], {"advantage": [[0.375, 0.375, 0.25]]})]
