"""A response that scoring or its environment failed on leaves the batch, its statistics and its denominators.

Differs from `crash_is_failure`: a failure of the machinery is no failure of the policy. It is what happens without
either; a recipe with an environment has to say which of the two it means.
Source: MiMo-V2 and GLM-5 technical reports: infrastructure failures are masked.
"""

from __future__ import annotations

from rldsl.axes.base import FailureRule
from rldsl.axes.choice import Example, rewards


class MaskInfraFailures(FailureRule):
    def missing(self) -> None:
        return None


EXAMPLES = [Example("the mean is over those with a score", {}, rewards(1.0, None, 0.0),
                    {"advantage": [0.5, None, -0.5]}, {"advantage": "group_mean"})]
