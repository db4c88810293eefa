"""Drop every token whose ratio left an open band, whatever the sign of its advantage.

Differs from `clip`: both sides are cut for both signs, and inside the band the weight is r itself, without gradient.
Source: DIS in GLM-5 and SAO; agentic coding uses 0.8 and 3.0.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import Expr, between, sg
from rldsl.axes.base import Gate, around_one
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Bound, Positive


class DoubleSided(Gate):
    positional = 2
    needs = {RATIO}
    low: Annotated[float, Bound(gt=0, le=1)] = 0.3  # the band starts above 1 - low
    high: Positive = 5.0  # and ends below 1 + high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return sg(r * between(r, 1 - self.low, 1 + self.high)) * advantage * logp

    def bounds(self) -> dict[str, float]:
        return around_one(self.low, self.high)


EXAMPLES = [
    Example("0.69 is out", {}, [one_token(0.69)], {"gradient": [[0.0]]}),
    Example("0.71 is in, with weight 0.71", {}, [one_token(0.71)], {"gradient": [[-0.71]]}),
    Example("6.1 is out", {}, [one_token(6.1)], {"gradient": [[0.0]]}),
]
