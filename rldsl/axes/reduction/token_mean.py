"""Mean over all action tokens of the update.

Differs from `response_mean`: every token has the same say, so a long response weighs more than a short one.
Source: DAPO (arXiv:2503.14476), equation 12, as implemented: one denominator over the whole update.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, total
from rldsl.algebra.variables import LENGTH
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_WEIGHTED


class TokenMean(Reduction):
    gives = {TOKEN_WEIGHTED}

    def weight(self, live: Expr) -> Expr:
        return live / total(LENGTH * live, UPDATE)


_rows = [tokens(*[1] * n, reward=r) for n, r in ((1, 1.0), (3, -1.0))]
EXAMPLES = [Example("lengths 1 and 3, advantages +1 and −1", {}, _rows, {"weight": [0.25, 0.25], "objective": -0.5})]
