"""Every response continues the first tokens of one that a teacher wrote to the same prompt.

Differs from `replay_prefix`: the beginning is another model's, drawn anew for each prompt and shared by its responses.
It is context: no action token of the student, in no ratio, mean or loss. A teacher that ends sooner gives what stands
before its end.
Source: TrOPD (arXiv:2606.01249), off-policy guidance: the student continues from a teacher's prefix. The length of the
prefix was not found, so it has no default; the paper also imitates it by forward KL, which is another term.
"""

from __future__ import annotations

from typing import Literal

from rldsl.axes.choice import Example, rewards
from rldsl.axes.structure import Begin, Beginning
from rldsl.axes.types import Tokens


class Prefix(Beginning):
    tokens: Tokens  # how much of the teacher's response is given
    from_: Literal["teacher"] = "teacher"  # who writes the beginning

    def begin(self) -> Begin:
        return Begin(self.from_, self.tokens)


EXAMPLES = [Example("what follows the beginning is compared", {"tokens": 2}, rewards(1.0, 0.0),
                    {"advantage": [0.5, -0.5]}, {"advantage": "group_mean"})]
