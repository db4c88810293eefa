"""Mean over the tokens of a response, then over responses.

Differs from `token_mean`: every response has the same say, so a token of a short one weighs more.
Source: GRPO in DeepSeekMath (arXiv:2402.03300), equation 3.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, total
from rldsl.algebra.variables import LENGTH, RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens


class ResponseMean(Reduction):
    def weight(self, live: Expr) -> Expr:
        return live / (total(RESPONSES * live, UPDATE) * LENGTH)


_rows = [tokens(*[1] * n) for n in (1, 3)]
EXAMPLES = [Example("lengths 1 and 3", {}, _rows, {"weight": [0.5, 1 / 6]})]
