"""A judge looks at the reasoning of responses that are right, and takes something off where it is wrong.

Differs from `judge`: never rewards, and leaves wrong responses alone. Exact: −penalty·(1 − c) where the response is
correct, else 0, with c the judge's confidence in yes, P(yes)/(P(yes) + P(no)).
Source: StepFun Step 3.5 Flash, MetaRM (a right conclusion from wrong reasoning is penalised); the size is not
published, its form here is ours.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, gt, where
from rldsl.algebra.variables import CORRECT
from rldsl.axes.choice import Example
from rldsl.axes.judging import Asked, ModelSource, wrong_question
from rldsl.axes.traits import CORRECTNESS, JUDGED
from rldsl.axes.types import Positive


class MetaRm(ModelSource):
    positional = 1
    gives = {JUDGED}
    needs = {CORRECTNESS}
    penalty: Positive  # what a right response loses whose reasoning is surely wrong
    question: str  # is the reasoning sound, yes or no: {prompt}, {response} and {answer} are filled in
    yes: str = "yes"  # the reply that the reasoning is sound
    no: str = "no"  # the reply that it is not

    def asked(self) -> Asked:
        return Asked("judge", "questions", (self.question,), (self.yes, self.no))

    def reward(self, score: Expr) -> Expr:
        return where(gt(CORRECT, 0.0), self.penalty * (score - 1.0), 0.0)

    def check(self) -> dict[str, str]:
        wrong = wrong_question(self.question, "response")
        return {**({"question": wrong} if wrong else {}),
                **({"no": "must not be the same as `yes`"} if self.yes == self.no else {})}


EXAMPLES = [Example("the sum of the sources is given to probe", {"penalty": 0.5, "question": "{response} sound?"}, [
    {"prompt": "p", "reward": 0.9, "correct": 1.0, "logp_current": [-1.0], "logp_old": [-1.0]}], {"advantage": [0.9]},
    {"feedback": "verify(exact)"})]
