"""Draw more prompts than are wanted, so that a filter after it need not go back for more.

Differs from `keep`: drops nothing; what is left over when the batch is full gives its prompts back.
Source: slime and DAPO's reference code: over-sampling batch size beside the rollout batch size.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import GROUP_OUTCOMES
from rldsl.axes.types import Bound


class Oversample(SamplingStage):
    positional = 1
    needs = {GROUP_OUTCOMES}
    times: Annotated[float, Bound(gt=1)]  # prompts drawn for each one that is wanted

    def draws(self) -> float:
        return self.times


EXAMPLES = [Example("every group that was drawn is kept", {"times": 2.0}, rewards(1.0, 0.0), {"kept": [True, True]})]
