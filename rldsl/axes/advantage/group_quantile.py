"""Reward minus a quantile of its group's rewards, divided by the group's standard deviation.

Differs from `group_norm`: with right and wrong answers only, the baseline is 0 or 1 and not the share of right ones. A
prompt that is hard (share ≤ 1 − k) teaches by its successes alone, an easy one by its failures alone.
Exact: (R − Q) / (std + eps), where Q is the smallest reward of the group that at least k of the group's rewards do not
exceed; `norm: none` does not divide. An all-equal group gives 0.
Source: quantile advantage estimation (arXiv:2509.22611), abstract: the k-quantile in place of GRPO's mean, and the
two regimes; which quantile lies between two rewards is ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from rldsl.algebra.expr import GROUP, Expr, above, count, ge, gt, highest, lowest, std, where
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import Bound, NonNegative

ROUNDING = 1e-9
"""What k times a number of responses may be off by."""


class GroupQuantile(Estimator):
    needs = {SIBLINGS}
    positional = 1
    k: Annotated[float, Bound(gt=0, lt=1)]  # share of the group's rewards at or below the baseline
    norm: Literal["population", "sample", "none"] = "population"  # the std that the difference is divided by
    eps: NonNegative = 1e-6  # added to the std

    def estimate(self) -> Expr:
        n = count(REWARD, GROUP)
        reached = ge(n - above(REWARD, GROUP) + ROUNDING, self.k * n)
        difference = REWARD - lowest(where(reached, REWARD, highest(REWARD, GROUP)), GROUP)
        if self.norm == "none":
            return difference
        spread = std(REWARD, GROUP, self.norm)
        return where(gt(spread, 0.0), difference / (spread + self.eps), 0.0)

    def unread(self) -> dict[str, str]:
        return {"eps": "norm: population"} if self.norm == "none" else {}


EXAMPLES = [
    Example("hard: one of four is not above 1 − 0.4, so the success teaches", {"k": 0.4, "norm": "none"},
            rewards(1.0, 0.0, 0.0, 0.0), {"advantage": [1.0, 0.0, 0.0, 0.0]}),
    Example("easy: three of four are, so the failure does", {"k": 0.4, "norm": "none"},
            rewards(1.0, 1.0, 1.0, 0.0), {"advantage": [0.0, 0.0, 0.0, -1.0]}),
    Example("over the population std of 0.4330127", {"k": 0.4, "eps": 0.0},
            rewards(1.0, 0.0, 0.0, 0.0), {"advantage": [2.3094011, 0.0, 0.0, 0.0]}),
]
