"""The teacher's opinion of every token the student sampled: on-policy distillation as a policy gradient.

Differs from a KL in the loss: the difference of log-probs is a constant coefficient, so its gradient is the
policy gradient of the reverse KL.
Exact: A_t = α·(log π_T − log π_ref) − (log π_θ − log π_ref), all constants, π_θ at the batch's start; α = 1 is log π_T
− log π_θ and reads no reference. `return: to_go` sums from the token to the end. `trust: ratio` multiplies each
token's opinion by P = min(π_T/π_θ, 1), the chance with which TrOPD takes it: the paper draws, the expectation stands
here.
Source: on-policy distillation (Thinking Machines, 2025); α > 1 with the student's start as ref: ExOPD; TrOPD
(arXiv:2606.01249), the trust region of the on-policy objective.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import Expr, discounted, sg
from rldsl.algebra.variables import LOGP, LOGP_REF, LOGP_TEACHER
from rldsl.axes.base import Estimator, teacher_trust
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TEACHER, TOKEN_ADVANTAGE
from rldsl.axes.types import Positive


class Teacher(Estimator):
    gives = {TOKEN_ADVANTAGE, TEACHER}
    scale: Positive = 1.0  # α: how far beyond the teacher to go
    return_: Literal["token", "to_go"] = "token"  # whether a token answers for what follows it
    trust: Literal["all", "ratio"] = "all"  # which opinions count

    def estimate(self) -> Expr:
        gap = LOGP_TEACHER - sg(LOGP)
        if self.scale != 1.0:
            gap = self.scale * (LOGP_TEACHER - LOGP_REF) - (sg(LOGP) - LOGP_REF)
        if self.trust == "ratio":
            gap = teacher_trust() * gap
        return discounted(gap, 1.0) if self.return_ == "to_go" else gap


_row = tokens(1, 1, logp_teacher=[-0.5, -2.0], logp_ref=[-1.5, -1.0])
EXAMPLES = [
    Example("log π_T − log π_θ", {}, [_row], {"advantage": [[0.5, -1.0]]}),
    Example("α = 2 against the reference", {"scale": 2.0}, [_row], {"advantage": [[1.5, -2.0]]}),
    Example("a token half as likely for the teacher counts half", {"trust": "ratio"},
            [tokens(1, logp_teacher=[-1.6931472])], {"advantage": [-0.3465736]}),
    Example("summed to the end", {"return_": "to_go"}, [_row], {"advantage": [[-0.5, -1.0]]}),
]
