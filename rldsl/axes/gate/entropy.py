"""A bonus for the policy's entropy at every position.

Differs from `kl`: needs no other policy; keeps the distribution wide rather than near something.
Source: Williams and Peng (1991); PPO (arXiv:1707.06347), equation 9.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import ENTROPY
from rldsl.axes.base import Regulariser
from rldsl.axes.choice import Example, one_token
from rldsl.axes.types import Real


class Entropy(Regulariser):
    positional = 1
    coef: Real  # objective gained per nat

    def bonus(self, r: Expr | None) -> Expr:
        return self.coef * ENTROPY


EXAMPLES = [Example("0.01 of 0.7 nats", {"coef": 0.01}, [one_token(reward=0.0, entropy=[0.7])], {"objective": 0.007})]
