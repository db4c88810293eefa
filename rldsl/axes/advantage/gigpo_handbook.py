"""Compare a response with its siblings, and add how its prompt compares with the other prompts.

Differs from `gigpo`: the second group is the batch of prompts, not the turns that share a state.
Exact: (R − mean_i)/σ_i + α·(mean_i − mean_batch)/σ_batch, where mean_batch and σ_batch are taken over the
prompts' means; a spread of 0 gives 0 for its part.
Source: the handbook's telling of GiGPO; the paper (arXiv:2505.10978) is `gigpo`.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, UPDATE, Expr, gt, mean, std, where
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import NonNegative


class GigpoHandbook(Estimator):
    needs = {SIBLINGS}
    alpha: NonNegative  # weight of the comparison between prompts

    def estimate(self) -> Expr:
        prompt = mean(REWARD, GROUP)
        inner, outer = std(REWARD, GROUP), std(prompt, UPDATE)
        among_siblings = where(gt(inner, 0.0), (REWARD - prompt) / inner, 0.0)
        among_prompts = where(gt(outer, 0.0), (prompt - mean(prompt, UPDATE)) / outer, 0.0)
        return among_siblings + self.alpha * among_prompts


EXAMPLES = [Example("prompt means 0.5 and 1", {"alpha": 0.5}, rewards(1.0, 0.0) + rewards(1.0, 1.0, prompt="q"),
                    {"advantage": [0.5, -1.5, 0.5, 0.5]})]
