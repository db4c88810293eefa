"""Where the teacher would hardly have written the sampled token, learn what it would have written instead.

Differs from `distill`: acts only as far as the sampled token is not trusted, beside the advantage `teacher(trust:
ratio)` that acts on the rest. Exact: −(1 − P)·Σ_v π_T,v·log(π_T,v/π_θ,v) over the teacher's k most likely tokens v,
both probabilities as they are; P = min(π_T/π_θ, 1) of the sampled token, a constant.
Source: TrOPD (arXiv:2606.01249), the outlier term of the on-policy objective, k = 64; the paper draws who is an
outlier, the expectation stands here.
"""

from __future__ import annotations

from rldsl.algebra.divergence import FORWARD_KL, Divergence
from rldsl.algebra.expr import Expr
from rldsl.axes.base import Regulariser, teacher_trust
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import TEACHER
from rldsl.axes.types import Count


class Outliers(Regulariser):
    positional = 1
    gives = {TEACHER}
    k: Count = 64  # tokens of the teacher that are learned at each position

    def bonus(self, r: Expr | None) -> Expr:
        spec = Divergence(FORWARD_KL, top=self.k, rescaled=False)
        return -(1.0 - teacher_trust()) * spec.variable


_NAME = Divergence(FORWARD_KL, top=64, rescaled=False).name
EXAMPLES = [Example("half trusted, 0.8 nats away", {}, [one_token(reward=0.0, logp_teacher=[-1.6931472],
                                                                  divergences={_NAME: [0.8]})], {"objective": -0.4})]
