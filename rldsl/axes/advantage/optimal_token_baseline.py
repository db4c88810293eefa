"""Compare the return from token t on with that of the siblings at token t, uncertain paths counting most.

Differs from `group_mean`: every position has a baseline of its own, the one that makes the gradient's variance least
if ‖∂ℓ/∂logits‖² stands for a token's share in it. Exact: A_t = G_t − B_t with G_t the rewards from t on, B_t = Σ_i
G_it·W_it / (Σ_i W_it + eps) over the siblings that have a token t, W_t = Σ_{j≤t} (1 − 2π_j + Σ_v π_v²), π the policy
at the batch's start. A sibling that is alone at a position has B_t = 0 there (`tail: zero`), as has a response without
siblings.
Source: verl 0.9.1 `compute_optimal_token_baseline_advantage`, with `handle_zero_tail`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import POSITION, RESPONSE, Expr, count, discounted, exp, gt, sg, total, where
from rldsl.algebra.units import so_far
from rldsl.algebra.variables import LOGP, SQUARES, TOKEN_REWARD, TOKENS
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE, TOKEN_REWARDS
from rldsl.axes.types import Positive


class OptimalTokenBaseline(Estimator):
    needs = {SIBLINGS}
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}
    tail: Literal["zero", "own"] = "zero"  # the baseline where a sibling is alone: 0, or what the formula gives
    eps: Positive = 1e-8  # added to the sum of the weights

    def estimate(self) -> Expr:
        ahead = discounted(TOKEN_REWARD, 1.0, RESPONSE)
        energy = so_far(1.0 - 2.0 * exp(sg(LOGP)) + sg(SQUARES))
        baseline = total(ahead * energy, POSITION) / (total(energy, POSITION) + self.eps)
        if self.tail == "zero":
            baseline = where(gt(count(TOKENS, POSITION), 1.0), baseline, 0.0)
        return ahead - baseline


_half = {"logp_current": [-0.6931472] * 2, "logp_old": [-0.6931472] * 2, "squares": [0.5, 1.0]}
_rows = [{**tokens(1, 1, reward=1.0), **_half},
         {**tokens(1, reward=0.0), "logp_current": [-1.3862944], "logp_old": [-1.3862944], "squares": [0.5]}]
EXAMPLES = [Example("weights 0.5 and 1.0 at the first token; alone at the second", {}, _rows,
                    {"advantage": [[0.6666667, 1.0], [-0.3333333]]}),
            Example("the formula's own baseline at the end", {"tail": "own"}, _rows,
                    {"advantage": [[0.6666667, 0.0], [-0.3333333]]})]
