"""Mask a token by how far its probability has moved, not by its ratio, and only where it moves further away.

Differs from `clip`: a rare token may double its probability, a likely one may not move by the same ratio.
Exact: sg(r)·M·A·ℓ with p = e^ℓ and q = p/r. `tv: δ`: p − q ≤ δ where A > 0, q − p ≤ δ elsewhere. `kl: δ`:
binary KL(q‖p) ≤ δ, or p has moved against the advantage. Give one of the two.
Source: DPPO (arXiv:2602.04879), binary TV and KL; verl 0.9.1 `dppo_tv`, `dppo_kl` (which also truncate r at
20).
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, either, exp, ge, gt, le, sg, where
from rldsl.axes.base import Gate, binary_kl
from rldsl.axes.choice import Example
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Positive


class Dppo(Gate):
    needs = {RATIO}
    tv: Positive | None = None  # largest change of the token's probability
    kl: Positive | None = None  # largest binary KL, in nats

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        p = exp(logp)
        return sg(r * self._kept(p, p / r, gt(advantage, 0))) * advantage * logp

    def _kept(self, p: Expr, q: Expr, up: Expr) -> Expr:
        if self.tv is not None:
            return where(up, le(p - q, self.tv), le(q - p, self.tv))
        near = le(binary_kl(q, p), self.kl)
        return where(up, either(near, le(p, q)), either(near, ge(p, q)))

    def check(self) -> dict[str, str]:
        if (self.tv is None) == (self.kl is None):
            return {"tv": "or `kl` must be given, and not both"}
        return {}


def _row(p: float, q: float, reward: float) -> dict:
    from math import log

    return {"prompt": "p", "reward": reward, "logp_current": [log(p)], "logp_old": [log(q)]}


EXAMPLES = [
    Example("0.02 → 0.04 is twice, and near", {"tv": 0.1}, [_row(0.04, 0.02, 1.0)], {"gradient": [[-2.0]]}),
    Example("0.5 → 0.7 is far", {"tv": 0.1}, [_row(0.7, 0.5, 1.0)], {"gradient": [[0.0]]}),
    Example("far, but against the advantage", {"kl": 0.01}, [_row(0.7, 0.5, -1.0)], {"gradient": [[1.4]]}),
    Example("KL(0.5‖0.7) = 0.0872", {"kl": 0.08}, [_row(0.7, 0.5, 1.0)], {"gradient": [[0.0]]}),
]
