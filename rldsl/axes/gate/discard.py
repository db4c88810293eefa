"""Discard what has gone too far off-policy: tokens, or whole trajectories, whose ratio is further than δ from 1.

Differs from `taper`: a threshold that drops, for both signs; the paper's TOPR is `taper`.
Exact: 1[|r − 1| ≤ δ]·r·A; `grain: trajectory` looks at the product of the response's ratios instead.
Source: TOPR as the handbook tells it.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import Expr, absolute, le
from rldsl.axes.base import Gate, trajectory
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Positive


class Discard(Gate):
    positional = 1
    needs = {RATIO}
    delta: Positive  # largest distance of the ratio from 1
    grain: Literal["token", "trajectory"] = "token"  # whose ratio is looked at

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        seen = r if self.grain == "token" else trajectory(r)
        return le(absolute(seen - 1), self.delta) * (r * advantage)

    def bounds(self) -> dict[str, float]:
        return {"delta": self.delta}


EXAMPLES = [
    Example("1.4 stays, 1.6 goes", {"delta": 0.5}, [one_token(1.4), one_token(1.6)], {"gradient": [[-0.7], [0.0]]}),
    Example("1.4 · 1.4 is too far", {"delta": 0.5, "grain": "trajectory"}, [tokens(1.4, 1.4)],
            {"gradient": [[0.0, 0.0]]}),
]
