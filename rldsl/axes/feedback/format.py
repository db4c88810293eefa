"""Reward a response whose whole text has the asked form.

Differs from `verify`: looks at how the response is written, never at whether it is right.
Source: DeepSeek-R1 (arXiv:2501.12948), section 2.2.2, format rewards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rldsl.axes.base import Scorer, Source
from rldsl.axes.choice import Example
from rldsl.axes.types import Real


def score(text: str, answer: str, metadata: Mapping, *, pattern: str, reward: float) -> float:
    """`reward` where the pattern matches the whole text (`.` matches newlines), else 0."""
    return reward if re.fullmatch(pattern, text, re.DOTALL) else 0.0


class Format(Source):
    positional = 1
    pattern: str  # regular expression for the whole response
    reward: Real = 1.0  # what a match earns

    def scorer(self) -> Scorer:
        return Scorer(f"{__name__}:score", {"pattern": self.pattern, "reward": self.reward})

    def check(self) -> dict[str, str]:
        try:
            re.compile(self.pattern)
        except re.error as error:
            return {"pattern": f"must be a regular expression: {error}"}
        return {}


EXAMPLES = [Example("tags around the thinking", {"pattern": "<think>.*</think>.+", "reward": 0.5},
                    [{"text": "<think>\n1+1</think>2", "answer": "2"}, {"text": "2", "answer": "2"}],
                    {"scores": [0.5, 0.0]})]
