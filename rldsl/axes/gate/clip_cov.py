"""PPO's clip, and no gradient for the few tokens whose likelihood and advantage rise together most.

Differs from `kl_cov`: the chosen tokens are silenced, not held. They are chosen over the whole update, never
over a part of it.
Exact: cov_t = (A_t − mean A)(ℓ_t − mean ℓ) over the update's tokens; of the tokens with cov in the open `band`
that PPO does not clip itself, the max(1, ⌊fraction·N⌋) with the largest cov give 0 (the paper draws them at
random; taking the largest needs no random numbers). Tokens of equal cov go together or not at all.
Source: Clip-Cov (arXiv:2505.22617); verl 0.9.1 `clip_cov`.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import (
    UPDATE,
    Expr,
    above,
    between,
    both,
    clip,
    ge,
    le,
    maximum,
    mean,
    minimum,
    sg,
    total,
    where,
)
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import Gate, around_one
from rldsl.axes.choice import Example
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Band, Bound, NonNegative, OpenFraction, PositiveBand, same_as


class ClipCov(Gate):
    needs = {RATIO}
    fraction: OpenFraction = 0.0002  # share of the update's tokens that is silenced
    band: PositiveBand = Band(1.0, 5.0)  # covariances that can be silenced
    low: Annotated[float, Bound(ge=0, le=1)] = 0.2  # PPO's floor is 1 - low
    high: NonNegative = same_as("low")  # PPO's ceiling is 1 + high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        free, held = r * advantage, clip(r, 1 - self.low, 1 + self.high) * advantage
        cov = sg((advantage - mean(advantage, UPDATE)) * (logp - mean(logp, UPDATE)))
        open_ = both(between(cov, self.band.low, self.band.high), ge(held, free))
        number = maximum(1.0, self.fraction * total(TOKENS, UPDATE))
        chosen = both(open_, le(above(where(open_, cov, -1e30), UPDATE) + 1, number))
        return where(chosen, 0.0, minimum(free, held))

    def bounds(self) -> dict[str, float]:
        return around_one(self.low, self.high)


def _rows() -> list[dict]:
    return [{"prompt": "p", "reward": a, "logp_current": [x], "logp_old": [x]}
            for a, x in ((3.0, -1.0), (-1.0, -3.0), (-1.0, -2.0), (-1.0, -2.0))]


EXAMPLES = [Example("covariances 3, 1, 0, 0: the largest is silenced",
                    {"fraction": 0.25, "band": Band(0.5, 5.0)}, _rows(), {"gradient": [[0.0], [0.25], [0.25], [0.25]]})]
