"""Take responses that hit the length limit out of the loss and out of its denominators.

Differs from `overlong`: no reward is changed; the response simply teaches nothing. It still counts in its group's
statistics unless `from_group: true`.
Source: DAPO (arXiv:2503.14476), section 3.4, overlong filtering.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr
from rldsl.algebra.variables import TRUNCATED
from rldsl.axes.base import RewardFilter
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import TRUNCATION_RULE


class DropTruncated(RewardFilter):
    gives = {TRUNCATION_RULE}
    from_group: bool = False  # whether it also leaves the statistics of its group

    def stays(self) -> Expr:
        return 1.0 - TRUNCATED

    def before_statistics(self) -> bool:
        return self.from_group


_batch = [{**r, "truncated": i == 2} for i, r in enumerate(rewards(1.0, 0.0, 0.0))]
EXAMPLES = [
    Example("the denominator counts two responses", {}, _batch,
            {"kept": [True, True, False], "weight": [0.5, 0.5, None], "advantage": [2 / 3, -1 / 3, None]},
            {"advantage": "group_mean"}),
    Example("out of the statistics as well", {"from_group": True}, _batch,
            {"kept": [True, True, False], "advantage": [0.5, -0.5, None]}, {"advantage": "group_mean"}),
]
