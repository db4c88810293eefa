"""Reward minus the reward of the greedy response to the same prompt.

Differs from `group_mean`: the baseline is one extra response without randomness, so one sample per prompt is
enough.
Source: ReMax (arXiv:2310.10505), algorithm 2.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import GREEDY_REWARD, REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import GREEDY_BASELINE


class Remax(Estimator):
    needs = {GREEDY_BASELINE}

    def estimate(self) -> Expr:
        return REWARD - GREEDY_REWARD


EXAMPLES = [Example("better than greedy, and worse", {},
                    [one_token(reward=1.0, greedy_reward=0.25), one_token(reward=0.0, greedy_reward=0.25)],
                    {"advantage": [0.75, -0.25]})]
