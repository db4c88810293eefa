"""The policy judges its own responses: the rubric's items are asked of the policy itself.

Differs from `judge`: no second model; it says in so many words that the judge is the one who is judged. With
`weights: current` the judge moves with the policy, with `initial` it is the policy before the first update.
Source: DeepSeek-V4.1, where the actor judges by rubric; the score as in `judge`.
"""

from __future__ import annotations

from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.judging import Asked, ModelSource, wrong_question
from rldsl.axes.traits import JUDGED


class SelfJudge(ModelSource):
    gives = {JUDGED}
    rubric: tuple[str, ...]  # questions to be answered with yes or no; {prompt} {response} {answer} are filled in
    weights: Literal["current", "initial"]  # which policy judges
    yes: str = "yes"  # the reply that earns the item
    no: str = "no"  # the reply that does not

    def asked(self) -> Asked:
        role = "policy" if self.weights == "current" else "initial"
        return Asked(role, "questions", self.rubric, (self.yes, self.no))

    def check(self) -> dict[str, str]:
        wrong = next(filter(None, (wrong_question(q, "response") for q in self.rubric)), None)
        found = {} if self.rubric else {"rubric": "must have an item"}
        return {**found, **({"rubric": wrong} if wrong else {}),
                **({"no": "must not be the same as `yes`"} if self.yes == self.no else {})}


EXAMPLES = [Example("40 % confidence in itself", {"rubric": ("{prompt}{response} right?",), "weights": "initial"}, [
    {"prompt": "p", "reward": 0.4, "logp_current": [-1.0], "logp_old": [-1.0]}], {"advantage": [0.4]})]
