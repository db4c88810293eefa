"""How much a step raised the chance of success, by the mean reward of continuations before it and after it.

Differs from `step_gae`: no critic; the values are sampled from the policy itself, so at λ = 0 they are unbiased.
Exact: A_m = Σ_l (γλ)^l δ_{m+l}, δ_m = R_m + γ·V̂_{m+1} − V̂_m, with R_m the reward inside step m and V̂_m the mean
reward of the continuations sampled from where step m begins, 0 after the last step. Every token of a step has its A.
Source: VinePPO (arXiv:2410.01679), equation 7, which is λ = 0.
"""

from __future__ import annotations

from rldsl.algebra.expr import STEP, Expr
from rldsl.algebra.units import unit_gae
from rldsl.algebra.variables import MC_VALUE, TOKEN_REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import CONTINUED, TOKEN_ADVANTAGE, TOKEN_REWARDS
from rldsl.axes.types import Fraction


class Vine(Estimator):
    needs = {CONTINUED}
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}
    gamma: Fraction = 1.0  # discount per step
    lambda_: Fraction = 0.0  # 0 is the one-step difference, 1 the return minus V̂

    def estimate(self) -> Expr:
        return unit_gae(TOKEN_REWARD, MC_VALUE, self.gamma, self.gamma * self.lambda_, STEP)


_row = tokens(1, 1, 1, reward=0.0, steps=[0, 0, 1], mc_values=[0.5, 0.5, 0.75])
EXAMPLES = [
    Example("the first step helped, the second one lost it", {}, [_row], {"advantage": [[0.25, 0.25, -0.75]]}),
    Example("λ = 1 is the return minus V̂", {"lambda_": 1.0}, [_row], {"advantage": [[-0.5, -0.5, -0.75]]}),
]
