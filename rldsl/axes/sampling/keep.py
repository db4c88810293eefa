"""Keep only groups that can teach: `mixed` drops those whose answers are all right or all wrong, and refills.

Looks at correctness before any shaping: an all-correct group of different lengths is not mixed. Whole groups are
kept or dropped, whatever the estimator. Sampling goes on until the batch has its prompts or `max_rounds` is reached.
Source: DAPO (arXiv:2503.14476), equation 11, dynamic sampling.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, Expr, gt, highest, lowest
from rldsl.algebra.variables import CORRECT
from rldsl.axes.base import SamplingStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import CORRECTNESS, GROUP_OUTCOMES, SIBLINGS
from rldsl.axes.types import Count


class Keep(SamplingStage):
    positional = 1
    needs = {SIBLINGS, CORRECTNESS}
    gives = {GROUP_OUTCOMES}
    what: Literal["mixed"]  # which groups stay
    max_rounds: Count | None = None  # most rounds of sampling per batch; none is no bound
    exhausted: Literal["error", "short_batch"] = "error"  # when the rounds are used up: stop, or train on what is there

    def keeps(self) -> Expr:
        return gt(highest(CORRECT, GROUP), lowest(CORRECT, GROUP))

    def rounds(self) -> int | None:
        return self.max_rounds

    def when_exhausted(self) -> str:
        return self.exhausted

    def unread(self) -> dict[str, str]:
        return {"exhausted": "a bound: max_rounds"} if self.max_rounds is None else {}


EXAMPLES = [Example("one success is enough to stay whole", {"what": "mixed"},
                    rewards(1.0, 0.0, 0.0, 0.0) + rewards(0.0, 0.0, 0.0, 0.0, prompt="q"),
                    {"kept": [True] * 4 + [False] * 4}, {"sampling": "group(4, max_tokens: 8)"})]
