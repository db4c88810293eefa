"""Generalised advantage estimation from a learned value function.

Differs from `group_norm`: one response per prompt is enough, and every token gets its own coefficient.
Exact: δ_t = r_t + γV_{t+1} − V_t with V = 0 after the last token; A_t = Σ_l (γλ)^l δ_{t+l}; the critic learns A + V.
Source: Schulman et al. (arXiv:1506.02438), equation 16; PPO (arXiv:1707.06347).
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, discounted, following
from rldsl.algebra.variables import TOKEN_REWARD, VALUE
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_ADVANTAGE, TOKEN_REWARDS, VALUES
from rldsl.axes.types import Fraction


class Gae(Estimator):
    gives = {VALUES, TOKEN_ADVANTAGE, TOKEN_REWARDS}
    gamma: Fraction = 1.0  # discount per token
    lambda_: Fraction = 0.95  # 0 is the one-step TD error, 1 the return minus V

    def estimate(self) -> Expr:
        delta = TOKEN_REWARD + self.gamma * following(VALUE) - VALUE
        return discounted(delta, self.gamma * self.lambda_)

    def value_target(self) -> Expr:
        return self.estimate() + VALUE


EXAMPLES = [
    Example("the last reward decays by λ", {}, [tokens(1, 1, values=[0.0, 0.0])], {"advantage": [[0.95, 1.0]]}),
    Example("λ = 0 is the TD error", {"lambda_": 0.0}, [tokens(1, 1, reward=0.0, values=[0.6, 0.75])],
            {"advantage": [[0.15, -0.75]]}),
    Example("λ = 1 is return minus value", {"lambda_": 1.0}, [tokens(1, 1, values=[0.25, 0.5])],
            {"advantage": [[0.75, 0.5]]}),
]
