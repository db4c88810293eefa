"""Weight 1 for every token: A·ℓ, whatever the ratio.

Differs from `none`: does not weigh by the ratio where there is one; masks on the distribution axis decide what
teaches.
Source: MIS-PO in Step 3.5 Flash, where kept samples count as on-policy.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token


class Unit(Gate):
    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return advantage * logp


EXAMPLES = [Example("r = 3 weighs 1", {}, [one_token(3.0, 2.0)], {"gradient": [[-2.0]]})]
