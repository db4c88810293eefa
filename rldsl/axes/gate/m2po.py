"""Drop the tokens that have moved furthest, until the mean squared log-ratio of those left is small.

Differs from `clip`: the bound is on the update as a whole, so a token far away may stay while few others moved.
Exact: a token stays if the mean of (log r)² over the update's tokens that moved no further than it is at most
τ; the term is r·A. Tokens that moved equally far go together.
Source: M2PO (arXiv:2510.01161), second-moment constraint; AReaL 1.0.4 `m2_threshold`.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, above, le, log, sg, total, upto
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Positive


class M2po(Gate):
    positional = 1
    needs = {RATIO}
    tau: Positive  # largest mean of (log r)²

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        moved = sg(log(r) ** 2 * TOKENS)
        no_further = total(TOKENS, UPDATE) - above(moved, UPDATE)
        return le(upto(moved, UPDATE) / no_further, self.tau) * (r * advantage)


EXAMPLES = [
    Example("(log r)² is 0, 0, 0.48: with the third the mean is 0.16", {"tau": 0.1},
            [one_token(1.0), one_token(1.0), one_token(2.0)], {"gradient": [[-1 / 3], [-1 / 3], [0.0]]}),
    Example("and is allowed", {"tau": 0.2}, [one_token(1.0), one_token(1.0), one_token(2.0)],
            {"gradient": [[-1 / 3], [-1 / 3], [-2 / 3]]}),
]
