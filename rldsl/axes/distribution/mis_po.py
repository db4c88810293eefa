"""Two closed bands of κ = π_old/μ: a wide one for each token, a narrow one for the response's geometric mean.

Differs from `mis`: both grains at once, and nothing is weighed: what passes counts as on-policy.
Exact: 1[κ_t in token]·1[exp(mean log κ) in trajectory].
Source: MIS-PO in Step 3.5 Flash, with its published bands.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, both, inside
from rldsl.axes.base import Mask, mismatch
from rldsl.axes.choice import Example, tokens
from rldsl.axes.types import Band, Denominator, PositiveBand


class MisPo(Mask):
    token: PositiveBand = Band(0.5, 2.0)  # κ of a token
    trajectory: PositiveBand = Band(0.996, 1.001)  # geometric mean of κ over the response
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        return both(inside(mismatch(), self.token.low, self.token.high),
                    inside(mismatch("geometric"), self.trajectory.low, self.trajectory.high))


EXAMPLES = [
    Example("1.5 and 1/1.5 cancel out: kept", {}, [tokens(1, 1, logp_rollout=[-1.4054651, -0.5945349])],
            {"correction": [[1.0, 1.0]]}),
    Example("a mean of 0.002 does not", {}, [tokens(1, 1, logp_rollout=[-1.002, -1.002])],
            {"correction": [[0.0, 0.0]]}),
    Example("3 and 1/3: the tokens are out", {}, [tokens(1, 1, logp_rollout=[-2.0986123, 0.0986123])],
            {"correction": [[0.0, 0.0]]}),
]
