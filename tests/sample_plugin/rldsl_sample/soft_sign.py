"""Saturate the ratio smoothly on both sides: 1 + (r − 1) / (1 + sharpness·|r − 1|).

Differs from `clip`: the gradient fades instead of stopping. A sample, with no claim to be useful.
Source: this package.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, absolute
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Positive


class SoftSign(Gate):
    positional = 1
    needs = {RATIO}
    sharpness: Positive = 1.0  # how fast it saturates

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return (1.0 + (r - 1.0) / (1.0 + self.sharpness * absolute(r - 1.0))) * advantage


EXAMPLES = [Example("r = 2 counts as 1.5", {}, [one_token(2.0)], {"objective": 1.5})]
