"""Reward minus its group's mean, divided by the group's standard deviation.

Differs from `group_mean`: every mixed group gets the same overall size, whatever its difficulty.
Exact: (R − mean) / (std + eps)^power; an all-equal group gives exactly 0. `std: population` divides by G (the paper's
worked numbers), `sample` by G − 1 (what most frameworks compute), `leave_one_out` is the sample std of the others.
`std_over: batch` takes one std over the batch of rewards (LitePPO). A std not above `floor` does not divide.
Source: GRPO in DeepSeekMath (arXiv:2402.03300), section 4.1.2.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, UPDATE, Expr, count, gt, maximum, mean, std, total, where
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import NonNegative


class GroupNorm(Estimator):
    needs = {SIBLINGS}
    eps: NonNegative = 1e-6  # added to the std
    power: NonNegative = 1.0  # exponent of the divisor; 0 is group_mean
    std: Literal["population", "sample", "leave_one_out"] = "population"  # which spread
    std_over: Literal["group", "batch"] = "group"  # over which rewards
    floor: NonNegative = 0.0  # a spread not above this does not divide
    baseline: Literal["group", "leave_one_out"] = "group"  # the mean of all siblings, or of the others

    def estimate(self) -> Expr:
        centred = REWARD - mean(REWARD, GROUP)
        n = count(REWARD, GROUP)
        spread = self._spread(centred, n)
        if self.baseline == "leave_one_out":
            centred = where(gt(n, 1), centred * n / (n - 1), 0.0)
        return where(gt(spread, self.floor), centred / (spread + self.eps) ** self.power, self._undivided(centred))

    def _undivided(self, centred: Expr) -> Expr:
        """Below the floor the centred reward stays; where the spread is none, there is nothing to say."""
        return where(gt(std(REWARD, GROUP), 0.0), centred, 0.0)

    def _spread(self, centred: Expr, n: Expr) -> Expr:
        if self.std != "leave_one_out":
            return std(REWARD, GROUP if self.std_over == "group" else UPDATE, self.std)
        others = total(centred * centred, GROUP) - centred * centred
        variance = (others - centred * centred / (n - 1)) / (n - 2)
        return where(gt(n, 2), maximum(variance, 0.0) ** 0.5, 0.0)

    def check(self) -> dict[str, str]:
        if self.std == "leave_one_out" and self.std_over == "batch":
            return {"std": "must be population or sample with std_over: batch"}
        return {}


EXAMPLES = [
    Example("one of four", {"eps": 0.0}, rewards(1.0, 0.0, 0.0, 0.0),
            {"advantage": [1.7320508, -0.5773503, -0.5773503, -0.5773503]}),
    Example("sample std", {"eps": 0.0, "std": "sample"}, rewards(1.0, 1.0, 0.0, 0.0),
            {"advantage": [0.8660254, 0.8660254, -0.8660254, -0.8660254]}),
    Example("an all-equal group says nothing", {"eps": 0.0}, rewards(0.1, 0.1, 0.1), {"advantage": [0.0, 0.0, 0.0]}),
]
