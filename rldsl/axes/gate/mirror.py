"""Punish the squared log-ratio to the policy that the update began from.

Differs from `kl`: the square of the log-ratio itself, as mirror descent with a KL regulariser leads to.
Exact: `token` −τ·(log r)² on every token, r the recipe's ratio; `response` −(τ/2)·(Σ_t log r)² once per
response, placed on its last token, so that `sequence_sum` gives the mean over responses. Without a ratio log r
is ℓ − log π_old.
Source: Kimi k1.5 (arXiv:2501.12599) (response, ratio none); Kimi K2.5 technical report (token).
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import RESPONSE, Expr, log, total
from rldsl.algebra.grain import carries_gradient
from rldsl.algebra.variables import LAST, LOGP, LOGP_OLD
from rldsl.axes.base import Regulariser
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import PROXIMAL
from rldsl.axes.types import NonNegative


class Mirror(Regulariser):
    positional = 1
    gives = {PROXIMAL}
    tau: NonNegative  # strength of the penalty
    grain: Literal["token", "response"] = "token"  # whose log-ratio is squared

    def bonus(self, r: Expr | None) -> Expr:
        moved = log(r) if r is not None and carries_gradient(r) else LOGP - LOGP_OLD
        if self.grain == "token":
            return -self.tau * moved ** 2
        return -self.tau / 2 * (total(moved, RESPONSE) ** 2 * LAST)


EXAMPLES = [
    Example("−0.5·(ln 2)² twice", {"tau": 0.5}, [tokens(2, 2, reward=0.0)], {"objective": -0.4804530}),
    Example("−(0.5/2)·(2 ln 2)²", {"tau": 0.5, "grain": "response"}, [tokens(2, 2, reward=0.0)],
            {"objective": -0.4804530, "gradient": [[0.6931472, 0.6931472]]}),
]
