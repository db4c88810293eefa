"""The number that a trained reward model gives a response.

Differs from `judge`: one number from a head that was trained on preferences, no question is asked. The model is a
sequence classifier with one label, named in `model { reward: … }`. It reads texts with its own tokenizer: the prompt
as a user's turn and the response as its whole reply, end included; the score is its number at the last of these
tokens.
Source: InstructGPT (arXiv:2203.02155), section 3.5: a scalar head on a language model, trained on comparisons.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.judging import Asked, ModelSource
from rldsl.axes.traits import JUDGED


class RewardModel(ModelSource):
    gives = {JUDGED}

    def asked(self) -> Asked:
        return Asked("reward", "value")


EXAMPLES = [Example("what the model said is the reward", {}, [
    {"prompt": "p", "reward": 0.7, "logp_current": [-1.0], "logp_old": [-1.0]}], {"advantage": [0.7]})]
