"""Mean over all action tokens of a prompt's group, then over prompts.

Differs from `token_mean`: every prompt has the same say, however long its responses are.
Source: DAPO (arXiv:2503.14476), equation 8, as written; its implementations take `token_mean`.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, UPDATE, Expr, highest, total
from rldsl.algebra.variables import LENGTH, RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_WEIGHTED


class GroupTokenMean(Reduction):
    gives = {TOKEN_WEIGHTED}

    def weight(self, live: Expr) -> Expr:
        prompts = total(highest(RESPONSES * live, GROUP), UPDATE)
        return live / (prompts * total(LENGTH * live, GROUP))


_rows = [tokens(1), tokens(1, 1, 1), tokens(1, 1, prompt="q")]
EXAMPLES = [Example("groups of 4 and 2 tokens", {}, _rows, {"weight": [0.125, 0.125, 0.25]})]
