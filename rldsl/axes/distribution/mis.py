"""Masked importance sampling: drop what lies outside a closed band of κ = π_old/μ.

Differs from `tis`: what disagrees too much is dropped, not capped. `weight: one` only drops, `kept` also weighs
by κ.
`grain`: κ per token; `product` exp(Σ log κ) or `geometric` exp(mean log κ) over the response, dropped as a
whole.
Source: masked importance sampling (MIS) as in Liu et al., "When speed kills stability" (2025); M2 stacks it on
CISPO.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import Expr, inside
from rldsl.axes.base import Mask, mismatch
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.traits import MULTIPLIES_KAPPA, OWN_GRAIN
from rldsl.axes.types import Band, Denominator, PositiveBand


class Mis(Mask):
    positional = 1
    decided_by = {MULTIPLIES_KAPPA: "weight", OWN_GRAIN: "grain"}
    band: PositiveBand = Band(0.5, 2.0)  # the values of κ that are kept
    grain: Literal["token", "product", "geometric"] = "token"  # over what κ is taken
    weight: Literal["one", "kept"] = "one"  # what is kept weighs 1, or κ
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    @property
    def gives(self) -> frozenset:
        return frozenset({OWN_GRAIN, MULTIPLIES_KAPPA} if self.weight == "kept" else {OWN_GRAIN})

    def keeps(self) -> Expr:
        return inside(mismatch(self.grain), self.band.low, self.band.high)

    def correction(self) -> Expr:
        return self.keeps() if self.weight == "one" else mismatch(self.grain) * self.keeps()


_two = one_token(logp_rollout=[-1.0 - 1.0986123])
EXAMPLES = [
    Example("κ = 3 is dropped and still counts", {}, [_two, one_token()],
            {"correction": [[0.0], [1.0]], "weight": [0.5, 0.5]}),
    Example("or leaves the denominator", {"denominator": "kept"}, [_two, one_token()],
            {"correction": [[0.0], [1.0]], "weight": [0.0, 1.0]}),
    Example("the product of 1.5 and 1.5 is dropped", {"grain": "product"},
            [tokens(1, 1, logp_rollout=[-1.0 - 0.4054651] * 2)], {"correction": [[0.0, 0.0]]}),
    Example("their geometric mean is kept, and weighs", {"grain": "geometric", "weight": "kept"},
            [tokens(1, 1, logp_rollout=[-1.0 - 0.4054651] * 2)], {"correction": [[1.5, 1.5]]}),
]
