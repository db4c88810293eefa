"""Reward minus the mean reward of its siblings' group.

Differs from `group_norm`: not divided by the spread, so prompts of middling difficulty weigh most.
Source: Dr. GRPO (arXiv:2503.20783), section 3.2.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, Expr, mean
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS


class GroupMean(Estimator):
    needs = {SIBLINGS}

    def estimate(self) -> Expr:
        return REWARD - mean(REWARD, GROUP)


EXAMPLES = [Example("a mean per prompt", {}, rewards(1.0, 0.0) + rewards(10.0, 8.0, prompt="q"),
                    {"advantage": [0.5, -0.5, 1.0, -1.0]}),
            Example("a missing score leaves the mean", {}, rewards(1.0, None, 0.0, None),
                    {"advantage": [0.5, None, -0.5, None]})]
