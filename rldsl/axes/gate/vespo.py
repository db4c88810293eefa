"""Weigh a response by a smooth kernel of its importance weight, which is 1 at w = 1 and falls on both sides.

Differs from `clip`: no bound and no length normalisation; each sign of the advantage has its own kernel.
Exact: sg(φ(w))·A·ℓ, φ(w) = e^λ·w^k·e^{−λw}, w the product of the response's ratios with log w held in [log
1e-8, 20]; k and λ by the sign of A.
Source: VESPO (arXiv:2602.10693); TRL 1.16.0 `vespo`, whose defaults these are.
"""

from __future__ import annotations

import math

from rldsl.algebra.expr import RESPONSE, Expr, clip, exp, ge, log, sg, total, where
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import NonNegative, Positive


class Vespo(Gate):
    needs = {RATIO}
    k_pos: NonNegative = 2.0  # exponent of w where A ≥ 0
    lambda_pos: Positive = 3.0  # decay in w where A ≥ 0
    k_neg: NonNegative = 3.0  # exponent where A < 0
    lambda_neg: Positive = 2.0  # decay where A < 0

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        log_w = clip(total(log(r), RESPONSE), math.log(1e-8), 20.0)
        good, bad = self._kernel(log_w, self.k_pos, self.lambda_pos), self._kernel(log_w, self.k_neg, self.lambda_neg)
        return sg(where(ge(advantage, 0), good, bad)) * advantage * logp

    def _kernel(self, log_w: Expr, k: float, lam: float) -> Expr:
        return exp(lam + k * log_w - lam * exp(log_w))


EXAMPLES = [
    Example("1 at w = 1", {}, [one_token()], {"gradient": [[-1.0]]}),
    Example("e^3·4·e^−6 at w = 2", {}, [one_token(2.0)], {"gradient": [[-0.1991483]]}),
    Example("e^2·8·e^−4 for a negative advantage", {}, [one_token(2.0, -1.0)], {"gradient": [[1.0826823]]}),
]
