"""Multiply by κ = π_old/μ inside a closed band, and drop the token outside it.

Differs from `tis`: a token whose two probabilities disagree too much teaches nothing, rather than a bounded
amount.
Source: Ring-1T (arXiv:2510.18855), IcePop, band 0.5..5.0; Hy3 uses 0.5..4.0.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, inside
from rldsl.axes.base import Mask, mismatch
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import MULTIPLIES_KAPPA
from rldsl.axes.types import Band, Denominator, PositiveBand


class Icepop(Mask):
    positional = 1
    gives = {MULTIPLIES_KAPPA}
    band: PositiveBand = Band(0.5, 5.0)  # the values of κ that are kept

    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        return inside(mismatch(), self.band.low, self.band.high)

    def correction(self) -> Expr:
        return mismatch() * self.keeps()


EXAMPLES = [Example("κ = 1.5 weighs", {}, [one_token(logp_rollout=[-1.0 - 0.4054651])], {"correction": [[1.5]]}),
            Example("κ = 6 is dropped", {}, [one_token(logp_rollout=[-1.0 - 1.7917595])], {"correction": [[0.0]]})]
