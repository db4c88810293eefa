"""Add the rewards that single turns or steps earned, each on the last token of its unit.

Differs from `verify`: judges the way, not only the result. Needs an advantage that reads a reward at every
token.
Source: MiniMax-M2 technical report, r_t = α·r_process + β·r_speed + r_perf; Step-GRPO.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import PROCESS
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_REWARDS
from rldsl.axes.types import Real


class Process(Shaping):
    positional = 1
    needs = {TOKEN_REWARDS}
    weight: Real  # factor on the recorded rewards

    def per_token(self) -> Expr:
        return self.weight * PROCESS


EXAMPLES = [Example("half of 0.4, and the outcome", {"weight": 0.5},
                    [tokens(1, 1, rewards=[0.4, 0.0], values=[0.0, 0.0])], {"advantage": [[1.2, 1.0]]},
                    {"advantage": "gae(lambda: 1)"})]
