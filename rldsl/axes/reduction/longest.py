"""Sum over a group's tokens, divided by its responses times its longest one, mean over groups.

Differs from `fixed_budget`: the constant is the longest response there is, not the longest there could be.
Source: HisPO in LongCat-Flash-Prover, 1 / (G·max_i T_i).
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, UPDATE, Expr, highest, total
from rldsl.algebra.variables import LENGTH, RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_WEIGHTED


class Longest(Reduction):
    gives = {TOKEN_WEIGHTED}

    def weight(self, live: Expr) -> Expr:
        groups = total(highest(RESPONSES * live, GROUP), UPDATE)
        return live / (groups * total(RESPONSES * live, GROUP) * highest(LENGTH * live, GROUP))


_rows = [tokens(1), tokens(1, 1, 1), tokens(1, 1, prompt="q")]
EXAMPLES = [Example("1/(2·2·3) and 1/(2·1·2)", {}, _rows, {"weight": [1 / 12, 1 / 12, 0.25]})]
