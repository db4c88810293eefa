"""A response that scoring or its environment failed on counts as failed: score 0.

Differs from `mask_infra_failures`: the policy is held responsible for what its actions bring down.
Source: DeepSeek-V4.1 technical report: an environment crash is a failure.
"""

from __future__ import annotations

from rldsl.axes.base import FailureRule
from rldsl.axes.choice import Example, rewards


class CrashIsFailure(FailureRule):
    def missing(self) -> float:
        return 0.0


EXAMPLES = [Example("a score that a run puts in place of a missing one: 0, 1 and 0 are compared", {},
                    rewards(0.0, 1.0, 0.0), {"advantage": [-1 / 3, 2 / 3, -1 / 3]}, {"advantage": "group_mean"})]
