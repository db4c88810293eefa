"""Prefer one continuation to another from the step at which they part.

Differs from `dpo`: only the tokens of each response's last marked step are compared; what stands before it is
shared.
Exact: log σ(β·(Δ_chosen − Δ_rejected)), Δ = Σ(ℓ − log π_ref) over the last step; with `sequence_mean` the mean
over pairs.
Source: Step-DPO (arXiv:2406.18629), equation 2.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, STEP, Expr, ge, total, where
from rldsl.algebra.units import is_last
from rldsl.algebra.variables import LAST, LOGP, LOGP_REF
from rldsl.axes.base import Gate, log_sigmoid, margin
from rldsl.axes.choice import Example
from rldsl.axes.traits import COMPARES, OWN_SIGNAL, RESPONSE_TERM
from rldsl.axes.types import Positive


class StepDpo(Gate):
    positional = 1
    gives = {RESPONSE_TERM, COMPARES, OWN_SIGNAL}
    beta: Positive  # how far from the reference a preference may lead

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        last = total(is_last(STEP) * LAST, STEP)
        return log_sigmoid(self.beta * margin(total(where(ge(last, 1.0), LOGP - LOGP_REF, 0.0), RESPONSE)))


_pair = [{"prompt": "p", "logp_current": [-1.0, x], "logp_old": [-1.0, x], "logp_ref": [-3.0, -1.0], "steps": [0, 1]}
         for x in (0.0, -2.0)]
_beside = {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"}
EXAMPLES = [Example("the first step is shared and not read", {"beta": 0.5}, _pair,
                    {"objective": -0.3132617, "gradient": [[0.0, -0.1344707], [0.0, 0.1344707]]}, _beside)]
