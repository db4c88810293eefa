"""Lead a pair's log-ratio margin to a fixed value, instead of ever further.

Differs from `dpo`: a squared loss, so a preference that never fails does not push the margin to infinity.
Exact: −(Δ_chosen − Δ_rejected − 1/(2τ))²; `length: mean` takes Δ = mean_t(ℓ − log π_ref), `sum` is the paper's
Σ_t. With `sequence_mean` the mean over pairs.
Source: IPO (arXiv:2310.12036), equation 17; the mean over tokens: TRL 1.16.0.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import RESPONSE, Expr, mean, total
from rldsl.algebra.variables import LOGP, LOGP_REF
from rldsl.axes.base import Gate, margin
from rldsl.axes.choice import Example
from rldsl.axes.traits import COMPARES, OWN_SIGNAL, RESPONSE_TERM
from rldsl.axes.types import Positive


class Ipo(Gate):
    positional = 1
    gives = {RESPONSE_TERM, COMPARES, OWN_SIGNAL}
    tau: Positive = 0.1  # the margin is led to 1/(2τ)
    length: Literal["mean", "sum"] = "mean"  # of the log-ratios in a response

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        over = mean if self.length == "mean" else total
        return -(margin(over(LOGP - LOGP_REF, RESPONSE)) - 1 / (2 * self.tau)) ** 2


def _pair(chosen: float, rejected: float) -> list[dict]:
    """One-token responses, log-probs as given; the reference says −1 to both."""
    return [{"prompt": "p", "logp_current": [x], "logp_old": [x], "logp_ref": [-1.0]} for x in (chosen, rejected)]


_beside = {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"}
EXAMPLES = [Example("a margin of 2 where 1 is wanted", {"tau": 0.5}, _pair(0.0, -2.0),
                    {"objective": -1.0, "gradient": [[2.0], [-2.0]]}, _beside)]
