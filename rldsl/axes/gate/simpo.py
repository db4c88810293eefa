"""Prefer one response to another by their mean log-likelihoods, with a margin and without a reference.

Differs from `dpo`: no reference policy is read, and the length does not count.
Exact: log σ(β·(mean ℓ_chosen − mean ℓ_rejected) − γ); with `sequence_mean` the mean over pairs.
Source: SimPO (arXiv:2405.14734), equation 6.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, mean
from rldsl.axes.base import Gate, log_sigmoid, margin
from rldsl.axes.choice import Example
from rldsl.axes.traits import COMPARES, OWN_SIGNAL, RESPONSE_TERM
from rldsl.axes.types import NonNegative, Positive


class Simpo(Gate):
    positional = 2
    gives = {RESPONSE_TERM, COMPARES, OWN_SIGNAL}
    beta: Positive  # scale of the mean log-likelihoods
    gamma: NonNegative  # margin that is wanted between the two

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return log_sigmoid(self.beta * margin(mean(logp, RESPONSE)) - self.gamma)


def _pair(chosen: float, rejected: float) -> list[dict]:
    """One-token responses, log-probs as given; the reference says −1 to both."""
    return [{"prompt": "p", "logp_current": [x], "logp_old": [x], "logp_ref": [-1.0]} for x in (chosen, rejected)]


_beside = {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"}
EXAMPLES = [Example("2·1 − 1 = 1: ln σ(1)", {"beta": 2.0, "gamma": 1.0}, _pair(-1.0, -2.0),
                    {"objective": -0.3132617, "gradient": [[-0.5378828], [0.5378828]]}, _beside)]
