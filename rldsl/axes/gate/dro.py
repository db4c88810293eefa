"""The plain policy gradient with a quadratic penalty on the log-ratio.

Differs from `mirror`: not a term added to another gate; the importance ratio weighs nothing.
Exact: A·ℓ − (β/2)·(log r)².
Source: DRO (arXiv:2405.19107), direct reward optimisation; verl 0.9.1 `dro`.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, log
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import PROXIMAL, RATIO
from rldsl.axes.types import Positive


class Dro(Gate):
    positional = 1
    needs = {RATIO}
    gives = {PROXIMAL}
    beta: Positive  # strength of the penalty

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return advantage * logp - self.beta / 2 * log(r) ** 2


EXAMPLES = [Example("1 − 0.5·ln 2", {"beta": 0.5}, [one_token(2.0)], {"gradient": [[-0.6534264]]})]
