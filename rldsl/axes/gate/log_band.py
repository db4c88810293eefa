"""Drop every token whose log-ratio left a closed band, whatever the sign of its advantage; r·A inside.

Differs from `double_sided`: the band is on log r, and the gradient flows through r.
Exact: 1[α ≤ log r ≤ β]·r·A.
Source: Kimi K2.5 technical report; α and β are unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, inside, log
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import PROXIMAL, RATIO
from rldsl.axes.types import Real


class LogBand(Gate):
    needs = {RATIO}
    gives = {PROXIMAL}
    alpha: Real  # smallest log-ratio that teaches
    beta: Real  # largest log-ratio that teaches

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return inside(log(r), self.alpha, self.beta) * (r * advantage)

    def check(self) -> dict[str, str]:
        return {"beta": f"must be above alpha = {self.alpha:g}"} if self.beta <= self.alpha else {}


EXAMPLES = [
    Example("log 2 is inside", {"alpha": -0.7, "beta": 0.7}, [one_token(2.0)], {"gradient": [[-2.0]]}),
    Example("log 2.1 is not", {"alpha": -0.7, "beta": 0.7}, [one_token(2.1, -1.0)], {"gradient": [[0.0]]}),
]
