"""Only the token that was sampled: a term with the same expected gradient as the divergence over the whole vocabulary.

Differs from `full`: the teacher's log-prob of one token is enough, and the gradient is noisy. With p, q the
probabilities of the sampled token under policy and teacher, the gradient of Σ_v f(p_v, q_v) is E[(∂f/∂p)·∇ℓ], so the
term is c·ℓ with the constant c = log(q/p) for reverse_kl, q/p for forward_kl, (1 − β)·log(m/p), m = βq + (1 − β)p, for
jsd. Only its gradient means something. Log-ratios are held in ±20.
Source: the score-function identity; reverse_kl: on-policy distillation (Thinking Machines, 2025).
"""

from __future__ import annotations

from rldsl.algebra.divergence import FORWARD_KL, REVERSE_KL, Divergence
from rldsl.algebra.expr import Expr, log, ratio_of, sg
from rldsl.algebra.variables import LOGP, LOGP_TEACHER
from rldsl.axes.parameters import Support


class Sampled(Support):
    def measure(self, spec: Divergence) -> Expr:
        gap = LOGP_TEACHER - sg(LOGP)
        if spec.kind == REVERSE_KL:
            return gap * LOGP
        if spec.kind == FORWARD_KL:
            return ratio_of(gap) * LOGP
        return (1.0 - spec.beta) * log(spec.beta * ratio_of(gap) + (1.0 - spec.beta)) * LOGP

    def tempered(self) -> bool:
        return False


EXAMPLES: list = []
