"""A reward for every tool call that was executed with success, on the call's last token.

Differs from `process`: what is rewarded is the execution, which needs no judge.
Source: execution reward per tool call, as SWE-RL and tool-use recipes add it to the outcome.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import SUCCEEDED
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_REWARDS, TOOLS
from rldsl.axes.types import Real


class ToolSuccess(Shaping):
    positional = 1
    needs = {TOKEN_REWARDS, TOOLS}
    weight: Real  # for each successful call

    def per_token(self) -> Expr:
        return self.weight * SUCCEEDED


EXAMPLES = [Example("the call that ends with the first token succeeded", {"weight": 0.25},
                    [tokens(1, 1, succeeded=[1, 0], values=[0.0, 0.0])], {"advantage": [[1.25, 1.0]]},
                    {"advantage": "gae(lambda: 1)"})]
