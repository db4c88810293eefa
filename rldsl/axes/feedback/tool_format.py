"""A penalty on every token of an invalid tool call.

Differs from `format`: the text as a whole is not judged; the rest of the trajectory pays nothing by itself. It is a
reward at those tokens, so the advantage decides how far before them it reaches.
Source: Qwen3-Coder-Next technical report: token-level penalties for turns with invalid tool calls; the size is
unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import INVALID
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_REWARDS, TOOLS
from rldsl.axes.types import NonNegative


class ToolFormat(Shaping):
    positional = 1
    needs = {TOKEN_REWARDS, TOOLS}
    penalty: NonNegative  # taken off at each token of an invalid call

    def per_token(self) -> Expr:
        return -self.penalty * INVALID


EXAMPLES = [Example("the second token is part of an invalid call", {"penalty": 0.5},
                    [tokens(1, 1, 1, invalid=[0, 1, 0], values=[0.0] * 3)], {"advantage": [[0.5, 0.5, 1.0]]},
                    {"advantage": "gae(lambda: 1)"})]
