"""Judge each response by itself, good or bad, against the usual distance from the reference.

Differs from `dpo`: needs no pairs; a response is good or bad, and gains and losses saturate.
Exact: w·(σ(s) − 1) with s = β·(Δ − z) and w = desirable for a good response, s = β·(z − Δ) and w = undesirable
for a bad one; Δ = Σ_t(ℓ − log π_ref), z = sg(max(0, mean of Σ(log π_θ − log π_ref) of mismatched responses over
the update)).
Source: KTO (arXiv:2402.01306), equations 7 and 8; TRL 1.16.0 `kto`.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, UPDATE, Expr, gt, maximum, mean, sigmoid, total, where
from rldsl.algebra.variables import CHOSEN, LOGP, LOGP_REF, MISMATCHED
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import COMPARES, OWN_SIGNAL, RESPONSE_TERM
from rldsl.axes.types import NonNegative, Positive


class Kto(Gate):
    positional = 1
    gives = {RESPONSE_TERM, COMPARES, OWN_SIGNAL}
    beta: Positive = 0.1  # how far from the reference a judgement may lead
    desirable: NonNegative = 1.0  # weight of good responses
    undesirable: NonNegative = 1.0  # weight of bad responses

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        usual = maximum(mean(MISMATCHED, UPDATE), 0.0)
        gain = self.beta * (total(LOGP - LOGP_REF, RESPONSE) - usual)
        good, bad = self.desirable * (sigmoid(gain) - 1), self.undesirable * (sigmoid(-gain) - 1)
        return where(gt(CHOSEN, 0.0), good, bad)


_rows = [{**one_token(reward=0.0), "logp_ref": [-2.0], "chosen": c, "mismatched": 0.5} for c in (1, 0)]
EXAMPLES = [Example("Δ = 1, z = 0.5: σ(0.5) − 1 and σ(−0.5) − 1", {"beta": 1.0}, _rows,
                    {"objective": -0.5, "gradient": [[-0.1175019], [0.1175019]]},
                    {"ratio": "none", "reduction": "sequence_mean", "advantage": "none"})]
