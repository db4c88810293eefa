"""n responses to every prompt, drawn independently.

Differs from `single`: siblings share their prompt, so they can be compared with one another.
Source: GRPO in DeepSeekMath (arXiv:2402.03300), section 4.1.
"""

from __future__ import annotations

from rldsl.axes.base import Sampler
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import Count, NonNegative, OpenFraction, Responses, Tokens


class Group(Sampler):
    positional = 1
    decided_by = {SIBLINGS: "n"}
    n: Responses  # responses per prompt
    max_tokens: Tokens  # most tokens in a response
    temperature: NonNegative = 1.0  # divides the logits; applied to every log-prob alike
    top_p: OpenFraction | None = None  # smallest set of tokens with this probability
    top_k: Count | None = None  # most likely tokens only
    stop: tuple[str, ...] = ()  # texts that end a response

    def siblings(self) -> int:
        return self.n


EXAMPLES = [Example("siblings share a baseline", {"n": 2, "max_tokens": 8}, rewards(1.0, 0.0),
                    {"advantage": [0.5, -0.5]}, {"advantage": "group_mean"})]
