"""Prefer one response to another, relative to how much the reference prefers it.

Differs from `simpo`: reads a reference policy, and sums over tokens, so long responses can move further.
Exact: log σ(β·(Δ_chosen − Δ_rejected)), Δ = Σ_t(ℓ − log π_ref) per response; with `sequence_mean` the mean over
pairs.
Source: DPO (arXiv:2305.18290), equation 7.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, total
from rldsl.algebra.variables import LOGP, LOGP_REF
from rldsl.axes.base import Gate, log_sigmoid, margin
from rldsl.axes.choice import Example
from rldsl.axes.traits import COMPARES, OWN_SIGNAL, RESPONSE_TERM
from rldsl.axes.types import Positive


class Dpo(Gate):
    positional = 1
    gives = {RESPONSE_TERM, COMPARES, OWN_SIGNAL}
    beta: Positive = 0.1  # how far from the reference a preference may lead

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return log_sigmoid(self.beta * margin(total(LOGP - LOGP_REF, RESPONSE)))


def _pair(chosen: float, rejected: float) -> list[dict]:
    """One-token responses, log-probs as given; the reference says −1 to both."""
    return [{"prompt": "p", "logp_current": [x], "logp_old": [x], "logp_ref": [-1.0]} for x in (chosen, rejected)]


_beside = {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"}
EXAMPLES = [Example("margin 2: ln σ(1), gradient β·σ(−1) on each side", {"beta": 0.5}, _pair(0.0, -2.0),
                    {"objective": -0.3132617, "gradient": [[-0.1344707], [0.1344707]]}, _beside)]
