"""Sum over the tokens of a response, mean over responses.

Differs from `response_mean`: a response weighs by its length, as the gradient of its whole log-probability does.
Source: Williams (1992), REINFORCE.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, total
from rldsl.algebra.variables import RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_WEIGHTED


class SequenceSum(Reduction):
    gives = {TOKEN_WEIGHTED}

    def weight(self, live: Expr) -> Expr:
        return live / total(RESPONSES * live, UPDATE)


_rows = [tokens(*[1] * n) for n in (1, 3)]
EXAMPLES = [Example("1/N on every token", {}, _rows, {"weight": [0.5, 0.5], "objective": 2.0})]
