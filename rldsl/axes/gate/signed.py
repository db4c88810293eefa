"""Drop every token whose ratio left the closed band for its advantage's sign.

Differs from `double_sided`: two bands, written as values of r itself, one for what is pushed up and one for
what is pushed down.
Exact: sg(r)·M·A·ℓ, M = 1[A ≥ 0 and r in pos, or A < 0 and r in neg].
Source: MiMo-V2.6 technical report; both bands start at 0.2..5.0. How they adapt to entropy is unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, ge, inside, sg, where
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Band, PositiveBand


class Signed(Gate):
    positional = 2
    needs = {RATIO}
    pos: PositiveBand = Band(0.2, 5.0)  # the ratios that a token with A ≥ 0 may have
    neg: PositiveBand = Band(0.2, 5.0)  # and one with A < 0

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        kept = where(ge(advantage, 0), inside(r, self.pos.low, self.pos.high), inside(r, self.neg.low, self.neg.high))
        return sg(r * kept) * advantage * logp

    def bounds(self) -> dict[str, float]:
        return {name: band.high - 1 for name, band in (("pos", self.pos), ("neg", self.neg)) if band.high > 1}


EXAMPLES = [
    Example("inside, with weight r", {}, [one_token(4.0)], {"gradient": [[-4.0]]}),
    Example("each sign has its own band", {"neg": Band(0.5, 2.0)}, [one_token(4.0, -1.0)], {"gradient": [[0.0]]}),
]
