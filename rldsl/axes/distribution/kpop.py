"""Drop a token on which the two engines' probabilities differ by more than φ nats of binary KL, in either direction.

Differs from `icepop`: judges by the divergence, so a rare token may differ by a large factor and a likely one
may not.
Exact: 1[KL_B(p‖q) ≤ φ]·1[KL_B(q‖p) ≤ φ], p = π_old and q = μ of the sampled token against all others together.
Source: KPop in Ling/Ring 2.6; φ is unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, both, exp, le
from rldsl.algebra.variables import LOGP_OLD, LOGP_ROLLOUT
from rldsl.axes.base import Mask, binary_kl
from rldsl.axes.choice import Example
from rldsl.axes.types import Denominator, Positive


class Kpop(Mask):
    positional = 1
    phi: Positive  # largest binary KL, in nats
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        p, q = exp(LOGP_OLD), exp(LOGP_ROLLOUT)
        return both(le(binary_kl(p, q), self.phi), le(binary_kl(q, p), self.phi))


def _row(p: float, q: float) -> dict:
    from math import log

    return {"prompt": "p", "reward": 1.0, "logp_current": [log(p)], "logp_old": [log(p)], "logp_rollout": [log(q)]}


EXAMPLES = [Example("a rare token at ratio 5 stays, a likely one at ratio 2 goes", {"phi": 0.01},
                    [_row(5e-5, 1e-5), _row(0.9, 0.45)], {"correction": [[1.0], [0.0]]})]
