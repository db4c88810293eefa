"""Punish a response that a limit ended.

Differs from `drop_truncated`: the response stays and teaches; differs from `overlong`: one step down, no ramp.
Source: Qwen3-Coder-Next technical report, penalty on unfinished trajectories; its size is unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import TRUNCATED
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import TRUNCATION_RULE
from rldsl.axes.types import Positive


class Unfinished(Shaping):
    positional = 1
    gives = {TRUNCATION_RULE}
    penalty: Positive  # reward lost by a response that was cut

    def shape(self) -> Expr:
        return -self.penalty * TRUNCATED


EXAMPLES = [Example("cut, and finished", {"penalty": 0.5},
                    [one_token(reward=0.0, truncated=True), one_token(reward=1.0)], {"reward": [-0.5, 1.0]})]
