"""Reward what the teacher likes better than the student does: log π_T − log π_old of each token, or of the response.

Differs from the advantage of the same name: here it is a reward, so it is added to others and goes through the
estimator. `grain: response` gives the sum over the response, which any estimator reads.
Source: on-policy distillation (Thinking Machines, 2025): the negative reverse KL as a per-token reward.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import RESPONSE, Expr, total
from rldsl.algebra.variables import LOGP_OLD, LOGP_TEACHER
from rldsl.axes.base import Dense
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TEACHER, TOKEN_REWARDS


class TeacherReward(Dense):
    gives = {TEACHER}
    decided_by = {TOKEN_REWARDS: "grain"}
    grain: Literal["token", "response"] = "token"  # where the reward is placed

    @property
    def needs(self) -> frozenset:
        return frozenset({TOKEN_REWARDS} if self.grain == "token" else ())

    def shape(self) -> Expr | None:
        return total(LOGP_TEACHER - LOGP_OLD, RESPONSE) if self.grain == "response" else None

    def per_token(self) -> Expr | None:
        return LOGP_TEACHER - LOGP_OLD if self.grain == "token" else None


_row = tokens(1, 1, reward=0.0, logp_teacher=[-0.5, -2.0])
EXAMPLES = [Example("0.5 − 1.0", {"grain": "response"}, [_row], {"reward": [-0.5]}),
            Example("each token, and what follows it", {}, [{**_row, "values": [0.0, 0.0]}],
                    {"advantage": [[-0.5, -1.0]]}, {"advantage": "gae(lambda: 1)"})]
