"""Compare whole trajectories with their siblings, and turns with the turns that began in the same state.

Differs from `group_norm`: adds, for every turn, how its discounted return compares with what was reached from
the very same state of the environment; a state seen once adds 0. `gigpo_handbook` is another formula under the
name.
Exact: A = A_episode + ω·A_step. A_episode is R − mean over siblings, A_step is G_k − mean over the turns of
that state, G_k = r_k + γ·G_{k+1}; `norm: std` divides each by its own (std + eps), `none` does not.
Source: GiGPO (arXiv:2505.10978), episode and step relative advantages.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, STATE, TURN, Expr, gt, mean, std, where
from rldsl.algebra.units import unit_return
from rldsl.algebra.variables import REWARD, TOKEN_REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE, TOKEN_REWARDS
from rldsl.axes.types import Fraction, NonNegative


class Gigpo(Estimator):
    needs = {SIBLINGS}
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}
    omega: NonNegative = 1.0  # weight of the comparison between turns
    gamma: Fraction = 0.95  # discount per turn
    norm: Literal["std", "none"] = "std"  # whether both parts are divided by their spread
    eps: NonNegative = 1e-6  # added to each std

    def estimate(self) -> Expr:
        step = self._compared(unit_return(TOKEN_REWARD, self.gamma, TURN), STATE)
        return self._compared(REWARD, GROUP) + self.omega * step

    def _compared(self, x: Expr, over: str) -> Expr:
        centred, spread = x - mean(x, over), std(x, over)
        return centred if self.norm == "none" else where(gt(spread, 0.0), centred / (spread + self.eps), 0.0)

    def unread(self) -> dict[str, str]:
        return {"eps": "norm: std"} if self.norm == "none" else {}


_rows = [tokens(1, 1, reward=1.0, turns=[0, 1], states=["a", "b"]),
         tokens(1, 1, reward=0.0, turns=[0, 1], states=["a", "c"])]
EXAMPLES = [
    Example("both began in state a; b and c were seen once", {"norm": "none", "gamma": 0.5}, _rows,
            {"advantage": [[0.75, 0.5], [-0.75, -0.5]]}),
    Example("divided by the spread", {"eps": 0.0}, _rows, {"advantage": [[2.0, 1.0], [-2.0, -1.0]]}),
]
