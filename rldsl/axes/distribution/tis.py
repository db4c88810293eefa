"""Truncated importance sampling: multiply by min(κ, cap), κ = π_old/μ.

Differs from `icepop`: a large mismatch is capped, never dropped.
`grain`: κ per token; `product` exp(Σ log κ) or `geometric` exp(mean log κ) over the response.
`batch_normalised` divides by the weights' mean over the batch, over tokens or, with the other grains, over
responses.
Source: Yao et al., "Your efficient RL framework secretly brings you off-policy RL training" (2025), TIS;
normalisation: verl 0.9.1 `rollout_is_batch_normalize`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import UPDATE, Expr, mean, minimum
from rldsl.axes.base import Distribution, mismatch
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import MULTIPLIES_KAPPA, OWN_GRAIN
from rldsl.axes.types import Positive


class Tis(Distribution):
    positional = 1
    gives = {MULTIPLIES_KAPPA, OWN_GRAIN}
    decided_by = {OWN_GRAIN: "grain"}
    cap: Positive = 2.0  # largest weight
    grain: Literal["token", "product", "geometric"] = "token"  # over what κ is taken
    batch_normalised: bool = False  # whether the weights have mean 1 over the batch

    def correction(self) -> Expr:
        weight = minimum(mismatch(self.grain), self.cap)
        return weight / mean(weight, UPDATE) if self.batch_normalised else weight


EXAMPLES = [Example("κ = 5 is capped", {}, [one_token(logp_rollout=[-1.0 - 1.6094379])], {"correction": [[2.0]]}),
            Example("κ = 0.5 stays", {}, [one_token(logp_rollout=[-1.0 + 0.6931472])], {"correction": [[0.5]]}),
            Example("2 and 1 over their mean", {"batch_normalised": True},
                    [one_token(logp_rollout=[-2.6094379]), one_token()], {"correction": [[4 / 3], [2 / 3]]})]
