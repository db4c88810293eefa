"""Three bounds: two for negative advantages, one for positive ones.

Differs from `clip`: a negative advantage's ratio is bounded from above as well, so its term cannot fall without
end.
Exact: A ≥ 0: min(r, 1 + pos_high)·A; A < 0: max(min(rA, max(r, 1 − neg_low)·A), neg_high·A), where neg_high
bounds r itself. The published system takes current / rollout; its three values are unpublished.
Source: HisPO in LongCat-Flash-Prover; dual clip: arXiv:1912.09729.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import Expr, ge, maximum, minimum, where
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Bound, NonNegative


class Clip3(Gate):
    needs = {RATIO}
    neg_low: Annotated[float, Bound(ge=0, le=1)]  # for A < 0 the floor is 1 - neg_low
    neg_high: Annotated[float, Bound(gt=1)]  # for A < 0 the largest ratio
    pos_high: NonNegative  # for A ≥ 0 the ceiling is 1 + pos_high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        positive = minimum(r, 1 + self.pos_high) * advantage
        floored = minimum(r * advantage, maximum(r, 1 - self.neg_low) * advantage)
        return where(ge(advantage, 0), positive, maximum(floored, self.neg_high * advantage))

    def bounds(self) -> dict[str, float]:
        return {"neg_low": self.neg_low, "neg_high": self.neg_high - 1, "pos_high": self.pos_high}


_params = {"neg_low": 0.2, "neg_high": 3.0, "pos_high": 0.28}
EXAMPLES = [
    Example("a negative advantage loses at most 3", _params, [one_token(10.0, -1.0)],
            {"objective": -3.0, "gradient": [[0.0]]}),
    Example("and stops below 0.8", _params, [one_token(0.5, -1.0)], {"objective": -0.8, "gradient": [[0.0]]}),
    Example("a positive one stops at 1.28", _params, [one_token(1.5, 2.0)], {"objective": 2.56, "gradient": [[0.0]]}),
]
