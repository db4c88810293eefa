"""Truncated importance sampling: multiply by min(κ, cap), κ = π_old/μ.

Differs from `icepop`: a large mismatch is capped, never dropped.
`grain`: κ per token; `product` exp(Σ log κ) or `geometric` exp(mean log κ) over the response.
Source: Yao et al., "Your efficient RL framework secretly brings you off-policy RL training" (2025), TIS.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import Expr, minimum
from rldsl.axes.base import Distribution, mismatch
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import MULTIPLIES_KAPPA
from rldsl.axes.types import Positive


class Tis(Distribution):
    positional = 1
    gives = {MULTIPLIES_KAPPA}
    cap: Positive = 2.0  # largest weight
    grain: Literal["token", "product", "geometric"] = "token"  # over what κ is taken

    def correction(self) -> Expr:
        return minimum(mismatch(self.grain), self.cap)


EXAMPLES = [Example("κ = 5 is capped", {}, [one_token(logp_rollout=[-1.0 - 1.6094379])], {"correction": [[2.0]]}),
            Example("κ = 0.5 stays", {}, [one_token(logp_rollout=[-1.0 + 0.6931472])], {"correction": [[0.5]]})]
