"""One ratio per turn: the geometric mean of its token ratios, gradient through the mean.

Differs from `sequence`: a turn that drifted does not weigh on the others.
Exact: exp(mean over the turn's action tokens of (ℓ − log π_denominator)).
Source: StarPO in RAGEN (arXiv:2504.20073) and turn-level PPO (arXiv:2512.17008).
"""

from __future__ import annotations

from rldsl.algebra.expr import TURN, Expr, mean, ratio_of
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import PART_SCALE, RATIO
from rldsl.axes.types import Policies


class Turn(Ratio):
    positional = 1
    gives = {RATIO, PART_SCALE}
    pair: Policies  # the two policies: current / old or current / rollout

    def ratio(self) -> Expr:
        return ratio_of(mean(log_ratio(self.pair), TURN))


EXAMPLES = [Example("two turns", {"pair": Policies("current", "old")}, [tokens(4.0, 1.0, 3.0, turns=[0, 0, 1])],
                    {"ratio": [[2.0, 2.0, 3.0]]})]
