"""Mean over the tokens of a turn, over the turns of a response, then over responses.

Differs from `response_mean`: a long turn has no more say than a short one.
Source: turn-level aggregation, as the vocabulary of multi-turn methods defines it (StarPO, arXiv:2504.20073).
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, TURN, UPDATE, Expr, gt, total, where
from rldsl.algebra.variables import RESPONSES, TOKENS
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens


class TurnMean(Reduction):
    def weight(self, live: Expr) -> Expr:
        inside = total(TOKENS, TURN)
        turns = total(where(gt(inside, 0.0), 1.0, 0.0), RESPONSE)
        return live / (total(RESPONSES * live, UPDATE) * turns * inside)


_rows = [tokens(1, 1, 1, turns=[0, 1, 1]), tokens(1, 1, turns=[0, 0])]
EXAMPLES = [Example("turns of 1 and 2 tokens, and one turn of 2", {}, _rows,
                    {"weight": [[0.25, 0.125, 0.125], [0.25, 0.25]]})]
