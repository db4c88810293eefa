"""Compare the answer in the response with the reference answer: 1 if they agree, else 0.

Differs from `format`: looks at what the answer is, not at how it is written.
`extract` may be a regular expression, whose first group is the answer. `exact` compares text, `numeric` numbers
within a tolerance, `math` mathematical expressions (math-verify), `json`
parsed values, `regex` searches `pattern` (which may contain `{answer}`), `task` is the task's own scorer.
Source: verifiable rewards as in DeepSeek-R1 (arXiv:2501.12948), section 2.2.2, accuracy rewards.
"""

from __future__ import annotations

import re
from typing import Literal

from rldsl.axes.base import Scorer, Source
from rldsl.axes.choice import Example
from rldsl.axes.traits import CORRECTNESS
from rldsl.axes.types import NonNegative


class Verify(Source):
    positional = 1
    gives = {CORRECTNESS}
    how: Literal["exact", "numeric", "math", "json", "regex", "task"]  # how the two answers are compared
    extract: Literal["all", "first_number", "last_number", "boxed"] | str = "all"  # the answer's part, or a regex
    tolerance: NonNegative = 1e-6  # largest difference that still counts as equal, relative to max(1, |answer|)
    pattern: str | None = None  # the regular expression to search for

    def scorer(self) -> Scorer:
        options = {"extract": self.extract}
        if self.how == "numeric":
            options["tolerance"] = self.tolerance
        if self.how == "regex":
            options["pattern"] = self.pattern
        return Scorer(f"rldsl.environments.verifiers:{self.how}", options)

    def check(self) -> dict[str, str]:
        if self.how == "regex" and self.pattern is None:
            return {"how": "needs a `pattern`"}
        for name in ("pattern", "extract"):
            try:
                re.compile(getattr(self, name) or "")
            except re.error as error:
                return {name: f"must be a regular expression: {error}"}
        return {}

    def unread(self) -> dict[str, str]:
        readers = {"tolerance": "numeric", "pattern": "regex"}
        return {name: f"verify({how})" for name, how in readers.items() if self.how != how}


EXAMPLES = [
    Example("equal text scores 1, other text 0", {"how": "exact"},
            [{"text": "12", "answer": "12"}, {"text": "13", "answer": "12"}], {"scores": [1.0, 0.0]}),
    Example("the last number counts", {"how": "numeric", "extract": "last_number"},
            [{"text": "5 + 7 = 12.0", "answer": "12"}], {"scores": [1.0]}),
]
