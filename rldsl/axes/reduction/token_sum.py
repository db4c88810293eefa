"""Sum over all action tokens of the update: no mean at all.

Differs from `sequence_sum`: the step grows with the number of responses, so the learning rate must know the
batch.
Source: `token-sum` of verl 0.9.1; the sum that Tinker's losses return.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_WEIGHTED


class TokenSum(Reduction):
    gives = {TOKEN_WEIGHTED}

    def weight(self, live: Expr) -> Expr:
        return live * TOKENS


_rows = [tokens(*[1] * n) for n in (1, 3)]
EXAMPLES = [Example("1 on every token", {}, _rows, {"weight": [1.0, 1.0], "objective": 4.0})]
