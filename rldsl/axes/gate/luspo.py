"""GSPO's clipped term times the response's length.

Differs from `clip`: under `sequence_mean` a long response weighs more, which undoes the bias of a
length-normalised ratio towards short ones.
Exact: min(rA, clip(r, 1 − low, 1 + high)·A)·T_i, with a `sequence` ratio.
Source: LUSPO as in TRL 1.16.0 (`loss_type: luspo`); bounds as in GSPO (arXiv:2507.18071).
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import Expr, clip, minimum
from rldsl.algebra.variables import LENGTH
from rldsl.axes.base import Gate, around_one
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Bound, NonNegative


class Luspo(Gate):
    positional = 1
    needs = {RATIO}
    low: Annotated[float, Bound(ge=0, le=1)] = 3e-4  # floor is 1 - low
    high: NonNegative = 4e-4  # ceiling is 1 + high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return minimum(r * advantage, clip(r, 1 - self.low, 1 + self.high) * advantage) * LENGTH

    def bounds(self) -> dict[str, float]:
        return around_one(self.low, self.high)


EXAMPLES = [Example("three tokens at r = 1 weigh 3", {}, [tokens(1, 1, 1)], {"objective": 3.0},
                    {"ratio": "sequence(current / old)", "reduction": "sequence_mean"})]
