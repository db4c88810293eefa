"""Keep the groups whose scores differ most: the given share of the batch, by the spread of their scores.

Differs from `keep`: groups compete with one another, and the batch gets smaller and is not refilled. Groups of equal
spread are kept or dropped together, so a few more may stay.
Source: RAGEN (arXiv:2504.20073), section 3.3, StarPO-S: the share of prompts with the largest reward std; RAGEN-2 calls
it signal-to-noise filtering.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, UPDATE, Expr, above, count, lt, std
from rldsl.algebra.variables import SCORES
from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import GROUP_OUTCOMES, SIBLINGS
from rldsl.axes.types import OpenFraction


class Snr(SamplingStage):
    needs = {SIBLINGS}
    gives = {GROUP_OUTCOMES}
    top: OpenFraction  # share of the batch's groups that stays

    def keeps(self) -> Expr:
        spread = std(SCORES, GROUP)
        return lt(above(spread, UPDATE), self.top * count(spread, UPDATE))

    def rounds(self) -> int:
        return 1

    def when_exhausted(self) -> str:
        return "short_batch"


EXAMPLES = [Example("half of two groups: the one with the larger spread", {"top": 0.5},
                    rewards(1.0, 0.0) + rewards(0.5, 0.4, prompt="q"), {"kept": [True, True, False, False]},
                    {"sampling": "group(2, max_tokens: 8)"})]
