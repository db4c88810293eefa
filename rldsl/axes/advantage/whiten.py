"""After another estimator: minus the mean, over the standard deviation, of all action tokens of the batch.

Differs from `batch_norm`: works on advantages, where a long response counts by its tokens, not on rewards.
Exact: (A − mean) / √(var + eps) over tokens; `std: population` divides the variance by n, `sample` by n − 1.
Source: GAE as PPO implementations run it (arXiv:2005.12729, section 3, advantage normalisation).
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import UPDATE, Expr, mean, std
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.types import Positive


class Whiten(AdvantageStage):
    std: Literal["population", "sample"] = "population"  # which variance
    eps: Positive = 1e-8  # added to the variance, inside the root

    def transform(self, advantage: Expr) -> Expr:
        per_token = TOKENS * advantage
        spread = std(per_token, UPDATE, self.std)
        return (per_token - mean(per_token, UPDATE)) / (spread * spread + self.eps) ** 0.5


EXAMPLES = [
    Example("advantages 1, 1, −1, 3", {}, [one_token(reward=r) for r in (1.0, 1.0, -1.0, 3.0)],
            {"advantage": [0.0, 0.0, -1.4142136, 1.4142136]}),
    Example("a response counts by its tokens", {}, [tokens(1, 1, 1, reward=1.0), one_token(reward=-3.0)],
            {"advantage": [0.5773503, -1.7320508]}),
]
