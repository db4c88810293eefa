"""Keep only groups that can teach: `mixed` drops those whose answers are all right or all wrong, and refills.

Looks at correctness before any shaping: an all-correct group of different lengths is not mixed; `by` names another
source of the feedback to look at. `pass_rate: a..b` keeps groups whose share of right answers lies in the range. Whole
groups are kept or dropped, whatever the estimator. Sampling goes on until the batch has its prompts or `max_rounds` is
reached.
Source: DAPO (arXiv:2503.14476), equation 11, dynamic sampling; a pass-rate window as in Kimi k1.5 (arXiv:2501.12599),
section 2.3.5, and Skywork-OR1 (arXiv:2505.22312).
"""

from __future__ import annotations

from typing import Annotated, Literal

from rldsl.algebra.expr import GROUP, Expr, gt, highest, inside, lowest, mean
from rldsl.algebra.variables import CORRECT, score
from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import CORRECTNESS, GROUP_OUTCOMES, SIBLINGS, Trait
from rldsl.axes.types import Band, Bound, Count, TermName, Unit


class Keep(SamplingStage):
    positional = 1
    gives = {GROUP_OUTCOMES}
    what: Literal["mixed"] | None = None  # which groups stay
    pass_rate: Annotated[Band, Bound(ge=0, le=1), Unit("fraction")] | None = None  # right answers in what stays
    by: Annotated[str, TermName()] | None = None  # the source whose scores are looked at; none is the correctness
    max_rounds: Count | None = None  # most rounds of sampling per batch; none is no bound
    exhausted: Literal["error", "short_batch"] = "error"  # when the rounds are used up: stop, or train on what is there

    @property
    def needs(self) -> frozenset[Trait]:
        return frozenset({SIBLINGS} | ({CORRECTNESS} if self.by is None else set()))

    def keeps(self) -> Expr:
        looked = CORRECT if self.by is None else score(self.by)
        if self.pass_rate is not None:
            return inside(mean(gt(looked, 0.0), GROUP), self.pass_rate.low, self.pass_rate.high)
        return gt(highest(looked, GROUP), lowest(looked, GROUP))

    def rounds(self) -> int | None:
        return self.max_rounds

    def when_exhausted(self) -> str:
        return self.exhausted

    def check(self) -> dict[str, str]:
        if (self.what is None) == (self.pass_rate is None):
            return {"what": "or `pass_rate` must be given, and not both"}
        return {}

    def unread(self) -> dict[str, str]:
        return {"exhausted": "a bound: max_rounds"} if self.max_rounds is None else {}


_batch = rewards(1.0, 0.0, 0.0, 0.0) + rewards(0.0, 0.0, 0.0, 0.0, prompt="q")
_group = {"sampling": "group(4, max_tokens: 8)"}
EXAMPLES = [
    Example("one success is enough to stay whole", {"what": "mixed"}, _batch,
            {"kept": [True] * 4 + [False] * 4}, _group),
    Example("a quarter is in the window, nothing is not", {"pass_rate": Band(0.1, 0.9)}, _batch,
            {"kept": [True] * 4 + [False] * 4}, _group),
]
