"""Imitate the preferred responses, and raise their odds over the others'.

Differs from `dpo`: no reference policy; likelihood and preference are learned at once.
Exact: mean of ℓ over all chosen tokens of the update, plus λ times the mean over pairs of log σ(log odds_chosen
− log odds_rejected), odds = P/(1 − P), P = exp(mean ℓ). Stated for `sequence_mean`, whose weights it cancels in
the first part.
Source: ORPO (arXiv:2403.07691), equations 4 to 7; λ = 0.1.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, UPDATE, Expr, exp, log, maximum, mean, total
from rldsl.algebra.variables import CHOSEN, LENGTH, RESPONSES
from rldsl.axes.base import Gate, log_sigmoid, margin
from rldsl.axes.choice import Example
from rldsl.axes.traits import COMPARES, OWN_SIGNAL, RESPONSE_TERM
from rldsl.axes.types import Positive


class Orpo(Gate):
    positional = 1
    gives = {RESPONSE_TERM, COMPARES, OWN_SIGNAL}
    lambda_: Positive = 0.1  # weight of the odds ratio

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        likely = mean(logp, RESPONSE)
        log_odds = likely - log(maximum(1.0 - exp(likely), 1e-12))
        share = LENGTH * total(RESPONSES, UPDATE) / total(CHOSEN * LENGTH, UPDATE)
        return CHOSEN * logp * share + self.lambda_ * log_sigmoid(margin(log_odds))


def _pair(chosen: float, rejected: float) -> list[dict]:
    from math import log as ln

    return [{"prompt": "p", "logp_current": [ln(p)], "logp_old": [ln(p)]} for p in (chosen, rejected)]


_beside = {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"}
EXAMPLES = [Example("ln 0.5 + ln σ(ln 1 − ln(1/3)) = ln 0.5 + ln 0.75", {"lambda_": 1.0}, _pair(0.5, 0.25),
                    {"objective": -0.9808293}, _beside)]
