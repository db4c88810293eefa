"""Only the best response of a group teaches, by its lead over the second best.

Differs from `group_norm`: rewards what the best of G attempts reaches, not the average one.
Exact: (R_max − R_second) / (std + eps) for the best, 0 for the others; a tie for the best gives 0. `norm: none`
does not divide.
Source: Tang et al. (arXiv:2503.19595), the leave-one-out estimate of max@k at k = G; verl 0.9.1 `grpo_passk`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, Expr, both, equal, highest, lowest, lt, std, total, where
from rldsl.algebra.variables import RESPONSES, REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import NonNegative


class BestOfGroup(Estimator):
    needs = {SIBLINGS}
    norm: Literal["sample", "population", "none"] = "sample"  # the std that the lead is divided by
    eps: NonNegative = 1e-6  # added to the std

    def estimate(self) -> Expr:
        best = equal(REWARD, highest(REWARD, GROUP))
        alone = lt(total(where(best, RESPONSES, 0.0), GROUP), 2.0)
        second = highest(where(best, lowest(REWARD, GROUP), REWARD), GROUP)
        lead = REWARD - second
        if self.norm != "none":
            lead = lead / (std(REWARD, GROUP, self.norm) + self.eps)
        return where(both(best, alone), lead, 0.0)

    def unread(self) -> dict[str, str]:
        return {"eps": "norm: sample"} if self.norm == "none" else {}


EXAMPLES = [
    Example("a lead of 0.5", {"norm": "none"}, rewards(1.0, 0.5, 0.0), {"advantage": [0.5, 0.0, 0.0]}),
    Example("over the sample std of 0.5", {"eps": 0.0}, rewards(1.0, 0.5, 0.0), {"advantage": [1.0, 0.0, 0.0]}),
    Example("a tie leads by nothing", {}, rewards(1.0, 1.0, 0.0), {"advantage": [0.0, 0.0, 0.0]}),
]
