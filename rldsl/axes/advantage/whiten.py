"""After another estimator: minus the mean, over the standard deviation, of all action tokens of the batch.

Differs from `batch_norm`: works on advantages, where a long response counts by its tokens, not on rewards.
Exact: (A − mean) / √(max(var, floor) + eps) over tokens; `std: population` divides the variance by n, `sample` by
n − 1.
Source: GAE as PPO implementations run it (arXiv:2005.12729, section 3, advantage normalisation).
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import UPDATE, Expr, maximum, mean, std
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.types import NonNegative


class Whiten(AdvantageStage):
    std: Literal["population", "sample"] = "population"  # which variance
    eps: NonNegative = 1e-8  # added to the variance, inside the root
    floor: NonNegative = 0.0  # a smaller variance counts as this, before eps

    def transform(self, advantage: Expr) -> Expr:
        per_token = TOKENS * advantage
        spread = std(per_token, UPDATE, self.std)
        variance = maximum(spread * spread, self.floor) if self.floor > 0 else spread * spread
        return (per_token - mean(per_token, UPDATE)) / (variance + self.eps) ** 0.5

    def check(self) -> dict[str, str]:
        return {"eps": "must be greater than 0 unless there is a floor"} if self.eps == 0 and self.floor == 0 else {}


EXAMPLES = [
    Example("advantages 1, 1, −1, 3", {}, [one_token(reward=r) for r in (1.0, 1.0, -1.0, 3.0)],
            {"advantage": [0.0, 0.0, -1.4142136, 1.4142136]}),
    Example("a response counts by its tokens", {}, [tokens(1, 1, 1, reward=1.0), one_token(reward=-3.0)],
            {"advantage": [0.5773503, -1.7320508]}),
    Example("a variance of 1 counts as 4", {"eps": 0.0, "floor": 4.0}, [one_token(reward=r) for r in (1.0, -1.0)],
            {"advantage": [0.5, -0.5]}),
]
