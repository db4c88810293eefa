"""Hold back the few tokens whose likelihood and advantage rise together most with a penalty on their log-ratio.

Differs from `clip_cov`: nothing is clipped, and the chosen tokens still teach.
Exact: r·A, minus coef·|log r| on the max(1, ⌊fraction·N⌋) tokens of the largest cov_t = (A_t − mean A)(ℓ_t −
mean ℓ), all over the update's tokens. Tokens of equal cov go together or not at all.
Source: KL-Cov (arXiv:2505.22617); verl 0.9.1 `kl_cov`.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, above, absolute, le, log, maximum, mean, sg, total, where
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example
from rldsl.axes.traits import PROXIMAL, RATIO
from rldsl.axes.types import NonNegative, OpenFraction


class KlCov(Gate):
    needs = {RATIO}
    gives = {PROXIMAL}
    fraction: OpenFraction = 0.0002  # share of the update's tokens that is held
    coef: NonNegative = 1.0  # objective lost per unit of |log r|

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        cov = sg((advantage - mean(advantage, UPDATE)) * (logp - mean(logp, UPDATE)))
        number = maximum(1.0, self.fraction * total(TOKENS, UPDATE))
        chosen = le(above(cov, UPDATE) + 1, number)
        return r * advantage - where(chosen, self.coef * absolute(log(r)), 0.0)


def _rows() -> list[dict]:
    return [{"prompt": "p", "reward": a, "logp_current": [x], "logp_old": [x - 0.6931472]}
            for a, x in ((3.0, -1.0), (-1.0, -3.0), (-1.0, -2.0), (-1.0, -2.0))]


EXAMPLES = [Example("r = 2: the first token's gradient is (2·3 − 0.5)/4", {"fraction": 0.25, "coef": 0.5}, _rows(),
                    {"gradient": [[-1.375], [0.5], [0.5], [0.5]]})]
