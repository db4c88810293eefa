"""Learn from good trajectories in full, however off-policy, and from bad ones only as far as they are still likely.

Differs from `discard`: nothing is dropped; only a bad trajectory's weight fades with its probability.
Exact: w·A·ℓ, w = 1 where A ≥ 0, else sg(min(r_trajectory, 1)); r_trajectory is the product of the response's
ratios.
Source: TOPR (arXiv:2503.14286), tapered off-policy REINFORCE.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, ge, minimum, sg, where
from rldsl.axes.base import Gate, trajectory
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO


class Taper(Gate):
    needs = {RATIO}

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return where(ge(advantage, 0), 1.0, sg(minimum(trajectory(r), 1.0))) * advantage * logp


EXAMPLES = [
    Example("good: weight 1 at r = 0.25", {}, [one_token(0.25)], {"gradient": [[-1.0]]}),
    Example("bad: weight r", {}, [one_token(0.25, -1.0)], {"gradient": [[0.25]]}),
    Example("bad: at most 1", {}, [one_token(4.0, -1.0)], {"gradient": [[1.0]]}),
]
