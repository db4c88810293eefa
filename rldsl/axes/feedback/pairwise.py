"""How often a judge prefers the response: to the reference answer, or to its siblings.

Differs from `judge`: two responses are compared and none is given an absolute mark, which drifts and saturates. Each
pair is asked in both orders and the two confidences are averaged. `against: reference`: the confidence c = P(response
≻ answer) is the Bradley–Terry win rate, one comparison each. `against: all`: Bradley–Terry strengths s are fitted to
the comparisons of all pairs in the group, and the reward is the mean over siblings of s_i/(s_i + s_j). With
`verbosity` a response of more than verbosity·usual tokens loses to one that is not longer.
Source: StepFun Step 3.5 Flash (reference, win rate); Kimi K3 (tournament, verbosity budget σ·ℓ0); Bradley and Terry
(1952), fitted as in Hunter (2004), equation 3.
"""

from __future__ import annotations

from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.judging import Asked, ModelSource, wrong_question
from rldsl.axes.traits import JUDGED, SIBLINGS
from rldsl.axes.types import Positive, Tokens


class Pairwise(ModelSource):
    gives = {JUDGED}
    decided_by = {SIBLINGS: "against"}
    against: Literal["reference", "all"]  # what a response is compared with
    question: str  # which is better: {prompt}, {response} and {other} are filled in, {response} is the first one
    first: str = "1"  # the reply that prefers the first response
    second: str = "2"  # the reply that prefers the other one
    verbosity: Positive | None = None  # σ: how many times the usual length a response may have
    usual: Tokens | None = None  # ℓ0: tokens of a response before training

    @property
    def needs(self) -> frozenset:
        return frozenset({SIBLINGS} if self.against == "all" else ())

    def asked(self) -> Asked:
        longest = None if self.verbosity is None else self.verbosity * self.usual
        form = "reference" if self.against == "reference" else "tournament"
        return Asked("judge", form, (self.question,), (self.first, self.second), longest)

    def check(self) -> dict[str, str]:
        wrong = wrong_question(self.question, "response", "other")
        found = {"question": wrong} if wrong else {}
        if self.first == self.second:
            found["second"] = "must not be the same as `first`"
        if self.verbosity is not None and self.usual is None:
            found["verbosity"] = "needs `usual`, the length that it is measured by"
        return found

    def unread(self) -> dict[str, str]:
        return {"usual": "verbosity"} if self.verbosity is None else {}


EXAMPLES = [Example("preferred in three of four comparisons",
                    {"against": "reference", "question": "{prompt}\n1: {response}\n2: {other}\nBetter:"},
                    [{"prompt": "p", "reward": 0.75, "logp_current": [-1.0], "logp_old": [-1.0]}],
                    {"advantage": [0.75]})]
