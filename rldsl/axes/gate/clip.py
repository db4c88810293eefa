"""Stop the gradient of a token whose ratio has moved far enough in the direction its advantage wants.

Differs from `cispo`: beyond the bound the gradient is zero, not saturated. `high` above `low` is DAPO's clip-higher;
`dual: c` bounds the loss of a negative advantage at c·A.
Source: PPO (arXiv:1707.06347), equation 7; DAPO (arXiv:2503.14476), equation 10; dual clip: arXiv:1912.09729,
equation 5.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import Expr, clip, lt, maximum, minimum, where
from rldsl.axes.base import Gate, around_one
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Bound, NonNegative, same_as


class Clip(Gate):
    positional = 1
    needs = {RATIO}
    low: Annotated[float, Bound(ge=0, le=1)] = 0.2  # floor is 1 - low
    high: NonNegative = same_as("low")  # ceiling is 1 + high
    dual: Annotated[float, Bound(gt=1)] | None = None  # for A < 0 the term is at least dual·A

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        plain = minimum(r * advantage, clip(r, 1 - self.low, 1 + self.high) * advantage)
        if self.dual is None:
            return plain
        return where(lt(advantage, 0), maximum(plain, self.dual * advantage), plain)

    def bounds(self) -> dict[str, float]:
        return around_one(self.low, self.high)


EXAMPLES = [
    Example("r = 1.3 with A = 2 is clipped at 1.2", {}, [one_token(1.3, 2.0)], {"objective": 2.4, "gradient": [[0.0]]}),
    Example("clip-higher keeps r = 1.25", {"high": 0.28}, [one_token(1.25, 1.0)],
            {"objective": 1.25, "gradient": [[-1.25]]}),
    Example("dual clip bounds a loss of 10 at 3", {"dual": 3.0}, [one_token(10.0, -1.0)],
            {"objective": -3.0, "gradient": [[0.0]]}),
]
