"""Keep the groups whose scores differ most: a share of them, or the fewest that hold a share of all the spread.

Differs from `keep`: groups compete with one another, and the batch gets smaller and is not refilled. Groups of equal
spread are kept or dropped together, so a few more may stay. By `mass`, a group of equal scores never stays.
Exact: `top` keeps a group while fewer than top·(number of groups) have a larger spread; `mass` while the larger spreads
add up to less than mass·(sum of all spreads) − slack.
Source: RAGEN (arXiv:2504.20073), section 3.3, StarPO-S, the share of prompts with the largest reward std; RAGEN-2
(arXiv:2604.06268), signal-to-noise filtering by top-p, whose code takes mass 0.9, slack 0.01 and the sample std.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, UPDATE, Expr, above, both, count, gt, lt, std, total, upto
from rldsl.algebra.variables import SCORES
from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import GROUP_OUTCOMES, SIBLINGS
from rldsl.axes.types import NonNegative, OpenFraction


class Snr(SamplingStage):
    needs = {SIBLINGS}
    gives = {GROUP_OUTCOMES}
    top: OpenFraction | None = None  # share of the batch's groups that stays
    mass: OpenFraction | None = None  # share of the batch's spread that what stays holds
    slack: NonNegative = 0.0  # spread that may be missing from that share
    std: Literal["population", "sample"] = "population"  # which spread

    def keeps(self) -> Expr:
        spread = std(SCORES, GROUP, self.std)
        if self.top is not None:
            return lt(above(spread, UPDATE), self.top * count(spread, UPDATE))
        whole = total(spread, UPDATE)
        return both(gt(spread, 0.0), lt(whole - upto(spread, UPDATE), self.mass * whole - self.slack))

    def rounds(self) -> int:
        return 1

    def when_exhausted(self) -> str:
        return "short_batch"

    def check(self) -> dict[str, str]:
        if (self.top is None) == (self.mass is None):
            return {"top": "or `mass` must be given, and not both"}
        return {}

    def unread(self) -> dict[str, str]:
        return {} if self.mass is not None else {"slack": "a share of the spread: mass"}


_two = rewards(1.0, 0.0) + rewards(0.5, 0.4, prompt="q")
_group = {"sampling": "group(2, max_tokens: 8)"}
EXAMPLES = [
    Example("half of two groups: the one with the larger spread", {"top": 0.5}, _two,
            {"kept": [True, True, False, False]}, _group),
    Example("spreads 0.5 and 0.05: the first holds 91 % of their sum", {"mass": 0.9}, _two,
            {"kept": [True, True, False, False]}, _group),
    Example("and less than 95 %", {"mass": 0.95}, _two, {"kept": [True, True, True, True]}, _group),
]
