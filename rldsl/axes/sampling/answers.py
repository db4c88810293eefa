"""n responses to every prompt, each of which holds m candidate answers.

Differs from `group`: a response is a set of answers, so that they can be rewarded for what they cover together. The
text is cut at `delimiter`; what follows the m-th answer is not scored, and an answer that is not there repeats the
first one.
Source: VPO (arXiv:2605.22817): several candidate answers in one autoregressive rollout.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.choice import Example, rewards
from rldsl.axes.several import SeveralAnswers
from rldsl.axes.traits import ANSWERS, LENGTH_LIMIT, ROLLOUT_LOGPS, SIBLINGS, Trait
from rldsl.axes.types import Bound, Count, NonNegative, OpenFraction, Responses, Tokens


class Answers(SeveralAnswers):
    positional = 1
    decided_by = {SIBLINGS: "n"}
    m: Annotated[int, Bound(ge=2)]  # answers in a response
    max_tokens: Tokens  # most tokens in a response, all answers together
    n: Responses = 8  # responses per prompt
    delimiter: str = "\n"  # text between two answers
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    @property
    def gives(self) -> frozenset[Trait]:
        siblings = {SIBLINGS} if self.n > 1 else set()
        recorded = {ROLLOUT_LOGPS} if self.temperature > 0 else set()
        return frozenset({ANSWERS, LENGTH_LIMIT} | siblings | recorded)

    def siblings(self) -> int:
        return self.n

    def check(self) -> dict[str, str]:
        return {} if self.delimiter else {"delimiter": "must not be empty"}


EXAMPLES = [Example("the responses to a prompt share a baseline", {"m": 2, "n": 2, "max_tokens": 8}, rewards(1.0, 0.0),
                    {"advantage": [0.5, -0.5]}, {"advantage": "group_mean"})]
