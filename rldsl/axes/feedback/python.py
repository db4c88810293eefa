"""A score from a function of the user's own: `pkg.mod:fn`, called as `fn(text, answer, metadata)`.

Differs from `verify`: the function is not ours, so its package must be one that the project trusts. It runs in the
scoring processes only, never while a recipe is read. A number is a score; None or an exception is none.
Source: not from a paper; the project's `rldsl.toml` names the packages under `trust`.
"""

from __future__ import annotations

import re

from rldsl.axes.base import Scorer, Source
from rldsl.axes.choice import Example
from rldsl.axes.traits import CORRECTNESS, Trait

NAME = r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*"


class Python(Source):
    positional = 1
    decided_by = {CORRECTNESS: "correctness"}
    function: str  # package.module:function
    correctness: bool = False  # whether the score says that a response is right, for what looks at correctness

    @property
    def gives(self) -> frozenset[Trait]:
        return frozenset({CORRECTNESS} if self.correctness else ())

    def scorer(self) -> Scorer:
        return Scorer(self.function)

    def trusted(self) -> str:
        return self.function.partition(":")[0].partition(".")[0]

    def check(self) -> dict[str, str]:
        fits = re.fullmatch(NAME, self.function)
        return {} if fits else {"function": 'must name a function, such as "package.module:function"'}


EXAMPLES = [Example("any function of text, answer and metadata", {"function": "rldsl.environments.verifiers:exact"},
                    [{"text": "12", "answer": "12"}], {"scores": [1.0]})]
