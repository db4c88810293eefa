"""Run the program in the response against the row's unit tests: 1 if it passes them all, else 0.

Differs from `verify`: what the program does decides, not how it is written. `score: share` gives the part of the tests
that pass.
Source: verifiable rewards on code as in DeepSeek-R1 (arXiv:2501.12948), section 2.2.2, and SWE-style training.
"""

from __future__ import annotations

import re
from typing import Literal

from rldsl.axes.base import Scorer, Source
from rldsl.axes.choice import Example
from rldsl.axes.traits import CORRECTNESS
from rldsl.axes.types import Seconds

FENCED = r"```(?:python|py)?\s*\n(.*?)```"


class Execute(Source):
    positional = 1
    gives = {CORRECTNESS}
    tests: str  # column with the tests: Python text, or a list of such
    extract: str = FENCED  # the part that is the program: all, or a regular expression whose first group it is
    timeout: Seconds = 5.0  # for one test
    score: Literal["all", "share"] = "all"  # whether a part of the tests earns anything

    def scorer(self) -> Scorer:
        return Scorer("rldsl.environments.verifiers:execute", {
            "extract": self.extract, "tests": self.tests, "seconds": self.timeout, "share": self.score == "share"})

    def check(self) -> dict[str, str]:
        try:
            re.compile(self.extract)
        except re.error as error:
            return {"extract": f"must be a regular expression: {error}"}
        return {}


_row = {"answer": "", "metadata": {"tests": ["assert twice(2) == 4", "assert twice(0) == 1"]}}
_texts = ("```python\ndef twice(x): return 2 * x\n```", "no program", "```\nimport sys; sys.exit(0)\n```")
EXAMPLES = [Example("one of two tests; no program; a program that only leaves early",
                    {"tests": "tests", "score": "share"}, [{**_row, "text": t} for t in _texts],
                    {"scores": [0.5, 0.0, 0.0]})]
