"""Mean over the tokens of a response, over the responses of a prompt, then over prompts.

Differs from `response_mean`: prompts weigh the same also where their groups differ in size; with equal groups
the two are one.
Source: MiMo-V2.6 technical report, prompt-mean aggregation.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, UPDATE, Expr, highest, total
from rldsl.algebra.variables import LENGTH, RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens


class PromptMean(Reduction):
    def weight(self, live: Expr) -> Expr:
        prompts = total(highest(RESPONSES * live, GROUP), UPDATE)
        return live / (prompts * total(RESPONSES * live, GROUP) * LENGTH)


_rows = [tokens(1), tokens(1, 1), tokens(1, prompt="q")]
EXAMPLES = [Example("two responses to p, one to q", {}, _rows, {"weight": [0.25, 0.125, 0.5]})]
