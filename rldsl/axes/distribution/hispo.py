"""Two open bands around κ = 1, κ = π_old/μ: one for the response's geometric mean, one for each token.

Differs from `mis_po`: symmetric and open bands; the update itself is bounded by the gate (`clip3`).
Exact: 1[|exp(mean log κ) − 1| < sequence]·1[|κ_t − 1| < token].
Source: HisPO in LongCat-Flash-Prover; both bounds are unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, absolute, both, lt
from rldsl.axes.base import Mask, mismatch
from rldsl.axes.choice import Example, tokens
from rldsl.axes.types import Denominator, Positive


class Hispo(Mask):
    sequence: Positive  # the mean's distance from 1 stays below this
    token: Positive  # a token's distance from 1 stays below this
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        return both(lt(absolute(mismatch("geometric") - 1), self.sequence), lt(absolute(mismatch() - 1), self.token))


EXAMPLES = [Example("1.5 is out, its neighbour stays; then the mean is out",
                    {"sequence": 0.3, "token": 0.4}, [tokens(1, 1, logp_rollout=[-1.4054651, -1.0]),
                                                      tokens(1, 1, logp_rollout=[-1.3, -1.3])],
                    {"correction": [[0.0, 1.0], [0.0, 0.0]]})]
