"""Clip the importance weight instead of the update, so that every token keeps its gradient.

Differs from `clip`: beyond the bound the coefficient saturates, where PPO's gradient becomes zero.
Source: MiniMax-M1 (arXiv:2506.13585), equations 4 and 5; two-sided as written, its runs had no floor
(`low: 1`).
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import Expr, clip, sg
from rldsl.axes.base import Gate, around_one
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Bound, NonNegative


class Cispo(Gate):
    positional = 1
    needs = {RATIO}
    low: Annotated[float, Bound(ge=0, le=1)] = 1.0  # floor is 1 - low
    high: NonNegative = 0.28  # ceiling is 1 + high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return sg(clip(r, 1 - self.low, 1 + self.high)) * advantage * logp

    def bounds(self) -> dict[str, float]:
        return around_one(self.low, self.high)


EXAMPLES = [
    Example("r = 1.3 saturates at 1.2 and still teaches", {"high": 0.2}, [one_token(1.3, 2.0)], {"gradient": [[-2.4]]}),
    Example("no floor", {"high": 0.2}, [one_token(0.5, -1.0)], {"gradient": [[0.5]]}),
    Example("a floor of 0.8", {"low": 0.2, "high": 0.2}, [one_token(0.5, -1.0)], {"gradient": [[0.8]]}),
]
