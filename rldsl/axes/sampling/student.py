"""The student answers, and the teacher's log-prob of every token that it wrote is read.

Differs from `group`: a recipe of this kind learns from a teacher, so a term that reads the teacher must be there; one
response per prompt is enough.
Source: on-policy distillation (Thinking Machines, 2025); GKD (arXiv:2306.13649), section 3, with on-policy data only.
"""

from __future__ import annotations

from rldsl.axes.base import Sampler
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TEACHER
from rldsl.axes.types import Count, NonNegative, OpenFraction, Responses, Tokens


class Student(Sampler):
    needs = {TEACHER}
    decided_by = {SIBLINGS: "n"}
    max_tokens: Tokens  # most tokens in a response
    n: Responses = 1  # responses per prompt
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    def siblings(self) -> int:
        return self.n


EXAMPLES = [Example("a token that the teacher likes better", {"max_tokens": 8},
                    [tokens(1, logp_teacher=[-0.5])], {"advantage": [0.5]}, {"advantage": "teacher"})]
