"""Compare every step's reward with those of all steps of all siblings; a step earns what it and the later ones earned.

Differs from `turn_group`: rewards are compared before they are added up, and steps of any place are compared with one
another, so longer responses add up more of them.
Exact: r̃ = (r − mean)/(std + eps), with r the reward inside a step and mean and std over all steps of the prompt's
responses; A of step k is Σ_{j ≥ k} r̃_j. Where all steps earned the same it is 0.
Source: DeepSeekMath (arXiv:2402.03300), section 4.1.3, process supervision with GRPO. The handbook's Step-GRPO, rewards
by rules (0.1 for a right formula, 1 for the answer) compared per step, states no formula of its own.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, RESPONSE, STEP, Expr, discounted, gt, mean, std, total, where
from rldsl.algebra.units import is_last
from rldsl.algebra.variables import TOKEN_REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE, TOKEN_REWARDS
from rldsl.axes.types import NonNegative


class StepReward(Estimator):
    needs = {SIBLINGS}
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}
    eps: NonNegative = 1e-6  # added to the std
    std: Literal["population", "sample"] = "population"  # which spread

    def estimate(self) -> Expr:
        earned = total(TOKEN_REWARD, STEP)
        spread = std(earned, GROUP, self.std)
        compared = where(gt(spread, 0.0), (earned - mean(earned, GROUP)) / (spread + self.eps), 0.0)
        return discounted(is_last(STEP) * compared, 1.0, RESPONSE)


_rows = [tokens(1, 1, 1, reward=1.0, steps=[0, 0, 1]), tokens(1, reward=0.0, steps=[0]),
         tokens(1, reward=0.0, steps=[0])]
EXAMPLES = [Example("four steps earned 0, 1, 0, 0: mean 1/4, std 0.433", {"eps": 0.0}, _rows,
                    {"advantage": [[1.1547005, 1.1547005, 1.7320508], [-0.5773503], [-0.5773503]]})]
