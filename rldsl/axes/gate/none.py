"""No gate: r·A, or A·ℓ where there is no ratio.

Differs from `clip`: an update may go as far as the ratio takes it.
Source: the importance-weighted policy gradient; with `ratio = none` Williams (1992), REINFORCE.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token


class NoGate(Gate):
    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return advantage * logp if r is None else r * advantage


EXAMPLES = [Example("r = 3 passes whole", {}, [one_token(3.0, -1.0)], {"objective": -3.0, "gradient": [[3.0]]})]
