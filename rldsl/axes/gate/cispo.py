"""Clip the importance weight instead of the update, so that every token keeps its gradient.

Differs from `clip`: beyond the bound the coefficient saturates, where PPO's gradient becomes zero.
Source: MiniMax-M1 (arXiv:2506.13585), equations 4 and 5; two-sided as written, its runs had no floor
(`low: 1`). `mask: ppo` is the unified form's token mask. `ceiling`: TRL 1.16.0, whose `epsilon_high` is the bound
itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from rldsl.algebra.expr import Expr, both, clip, gt, lt, sg, where
from rldsl.axes.base import Gate, around_one
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Bound, NonNegative, Positive, same_as


class Cispo(Gate):
    positional = 1
    needs = {RATIO}
    low: Annotated[float, Bound(ge=0, le=1)] = 1.0  # floor is 1 - low
    high: NonNegative = 0.28  # ceiling is 1 + high
    ceiling: Positive | None = None  # the ceiling itself instead of 1 + high
    mask: Literal["none", "ppo"] = "none"  # whether tokens that PPO would clip are dropped after all
    mask_low: Annotated[float, Bound(ge=0, le=1)] = 0.2  # the mask drops A < 0 below 1 - mask_low
    mask_high: NonNegative = same_as("mask_low")  # and A > 0 above 1 + mask_high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        weight = clip(r, 1 - self.low, 1 + self.high if self.ceiling is None else self.ceiling)
        if self.mask == "ppo":
            strays = where(gt(advantage, 0), gt(r, 1 + self.mask_high),
                           both(lt(advantage, 0), lt(r, 1 - self.mask_low)))
            weight = where(strays, 0.0, weight)
        return sg(weight) * advantage * logp

    def check(self) -> dict[str, str]:
        below = self.ceiling is not None and self.ceiling < 1 - self.low
        return {"ceiling": f"must be at least the floor 1 - low = {1 - self.low:g}"} if below else {}

    def unread(self) -> dict[str, str]:
        masks = dict.fromkeys(("mask_low", "mask_high"), "mask: ppo") if self.mask == "none" else {}
        return masks if self.ceiling is None else {**masks, "high": "ceiling: none"}

    def bounds(self) -> dict[str, float]:
        if self.ceiling is None:
            return around_one(self.low, self.high)
        return {"ceiling": abs(self.ceiling - 1)} | ({"low": self.low} if self.low < 1 else {})


EXAMPLES = [
    Example("r = 1.3 saturates at 1.2 and still teaches", {"high": 0.2}, [one_token(1.3, 2.0)], {"gradient": [[-2.4]]}),
    Example("no floor", {"high": 0.2}, [one_token(0.5, -1.0)], {"gradient": [[0.5]]}),
    Example("the mask drops what PPO would clip", {"high": 0.2, "mask": "ppo"}, [one_token(1.3, 2.0)],
            {"gradient": [[0.0]]}),
    Example("a floor of 0.8", {"low": 0.2, "high": 0.2}, [one_token(0.5, -1.0)], {"gradient": [[0.8]]}),
    Example("a ceiling of 0.2 cuts every step to a fifth", {"ceiling": 0.2}, [one_token(1.0, 2.0)],
            {"gradient": [[-0.4]]}),
]
