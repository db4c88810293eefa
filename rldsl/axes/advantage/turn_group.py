"""Compare turn k with turn k of its siblings, by the reward from there on.

Differs from `group_norm`: each turn has its own mean and spread, and a turn earns nothing for what came before
it.
Exact: (G_ik − mean_j G_jk) / (std_j G_jk + eps) with G the reward from turn k on; siblings that have no turn k
are left out, and a turn whose siblings all have one return gives 0.
Source: StarPO as the handbook tells it; RAGEN's StarPO (arXiv:2504.20073) is trajectory-level: `group_norm` or
`gae`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import ORDINAL, TURN, Expr, gt, mean, std, where
from rldsl.algebra.units import unit_return
from rldsl.algebra.variables import TOKEN_REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE, TOKEN_REWARDS
from rldsl.axes.types import NonNegative


class TurnGroup(Estimator):
    needs = {SIBLINGS}
    gives = {TOKEN_ADVANTAGE, TOKEN_REWARDS}
    eps: NonNegative = 1e-6  # added to the std
    std: Literal["population", "sample"] = "population"  # which spread

    def estimate(self) -> Expr:
        ahead = unit_return(TOKEN_REWARD, 1.0, TURN)
        spread = std(ahead, ORDINAL, self.std)
        return where(gt(spread, 0.0), (ahead - mean(ahead, ORDINAL)) / (spread + self.eps), 0.0)


_rows = [tokens(1, 1, reward=1.0, rewards=[1.0, 0.0], turns=[0, 1]),
         tokens(1, 1, reward=0.0, rewards=[0.0, 0.0], turns=[0, 1]),
         tokens(1, reward=0.0, rewards=[1.0], turns=[0])]
EXAMPLES = [Example("turn 1 has returns 2, 0, 1; turn 2 has 1, 0", {"eps": 0.0}, _rows,
                    {"advantage": [[1.2247449, 1.0], [-1.2247449, -1.0], [0.0]]},
                    {"feedback": "verify(exact) + process(1)"})]
