"""A frozen language model answers each item of a rubric with yes or no; the reward is its mean confidence in yes.

Differs from `reward_model`: the criteria are written in the recipe, and any language model can be asked. Exact: the
mean over items of P(yes)/(P(yes) + P(no)), the chance that the judge's whole reply to the question is that word; the
model is named in `model { judge: … }` and reads texts with its own tokenizer.
Source: generative verifiers (arXiv:2408.15240), equation 4, the probability of “Yes”; a rubric item by item: the GRMs
of MiMo and Kimi. The mean over items is ours.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.judging import Asked, ModelSource, wrong_question
from rldsl.axes.traits import JUDGED


class Judge(ModelSource):
    gives = {JUDGED}
    rubric: tuple[str, ...]  # questions to be answered with yes or no; {prompt} {response} {answer} are filled in
    yes: str = "yes"  # the reply that earns the item
    no: str = "no"  # the reply that does not

    def asked(self) -> Asked:
        return Asked("judge", "questions", self.rubric, (self.yes, self.no))

    def check(self) -> dict[str, str]:
        wrong = next(filter(None, (wrong_question(q, "response") for q in self.rubric)), None)
        found = {} if self.rubric else {"rubric": "must have an item"}
        return {**found, **({"rubric": wrong} if wrong else {}),
                **({"no": "must not be the same as `yes`"} if self.yes == self.no else {})}


EXAMPLES = [Example("70 % confidence", {"rubric": ("{prompt}{response} right?",)}, [
    {"prompt": "p", "reward": 0.7, "logp_current": [-1.0], "logp_old": [-1.0]}], {"advantage": [0.7]})]
