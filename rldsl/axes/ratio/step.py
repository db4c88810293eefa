"""One ratio per step: the geometric mean of its token ratios, gradient through the mean.

Differs from `sequence`: the unit is a marked step, which may span turns.
Exact: exp(mean over the step's action tokens of (ℓ − log π_denominator)).
Source: StepPO (arXiv:2604.18401), length-normalised importance sampling per step.
"""

from __future__ import annotations

from rldsl.algebra.expr import STEP, Expr, mean, ratio_of
from rldsl.axes.base import Ratio, log_ratio
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import PART_SCALE, RATIO
from rldsl.axes.types import Policies


class Step(Ratio):
    positional = 1
    gives = {RATIO, PART_SCALE}
    pair: Policies  # the two policies: current / old or current / rollout

    def ratio(self) -> Expr:
        return ratio_of(mean(log_ratio(self.pair), STEP))


EXAMPLES = [Example("two steps", {"pair": Policies("current", "old")}, [tokens(4.0, 1.0, 3.0, steps=[0, 0, 1])],
                    {"ratio": [[2.0, 2.0, 3.0]]})]
