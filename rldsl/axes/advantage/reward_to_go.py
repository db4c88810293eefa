"""Reward from each token on, minus a baseline that is one number per trajectory.

Differs from `gae`: no critic; a reward reaches every token before it in full, and none after it.
Exact: A_t = Σ_{p≥t} r_p − B_i. The source calls B_i a trajectory-level baseline and does not define it; here it
is the mean return Σ_p r_p of the prompt's trajectories (ours), or 0 with `baseline: none`.
Source: MiniMax-M2 technical report, return-to-go advantage.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, RESPONSE, Expr, discounted, mean, total
from rldsl.algebra.variables import TOKEN_REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE, TOKEN_REWARDS


class RewardToGo(Estimator):
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}
    decided_by = {SIBLINGS: "baseline"}
    baseline: Literal["trajectory", "none"] = "trajectory"  # what the return is compared with

    @property
    def needs(self) -> frozenset:
        return frozenset({SIBLINGS} if self.baseline == "trajectory" else ())

    def estimate(self) -> Expr:
        ahead = discounted(TOKEN_REWARD, 1.0)
        return ahead if self.baseline == "none" else ahead - mean(total(TOKEN_REWARD, RESPONSE), GROUP)


_rows = [tokens(1, 1, reward=1.0, rewards=[0.5, 0.0]), tokens(1, reward=0.5, rewards=[0.0])]
EXAMPLES = [
    Example("returns 1.5 and 0.5, baseline 1", {}, _rows, {"advantage": [[0.5, 0.0], [-0.5]]},
            {"feedback": "verify(exact) + process(1)"}),
    Example("without a baseline", {"baseline": "none"}, _rows, {"advantage": [[1.5, 1.0], [0.5]]},
            {"feedback": "verify(exact) + process(1)"}),
]
