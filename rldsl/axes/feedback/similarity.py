"""How much of the reference text the response has, between 0 and 1: the matching blocks of the two.

Differs from `verify`: a partial match earns something.
Source: SWE-RL (arXiv:2502.18449), section 2.2: SequenceMatcher ratio between predicted and reference patch.
"""

from __future__ import annotations

import re

from rldsl.axes.base import Scorer, Source
from rldsl.axes.choice import Example


class Similarity(Source):
    extract: str = "all"  # the part that is compared: all, or a regular expression whose first group it is

    def scorer(self) -> Scorer:
        return Scorer("rldsl.environments.verifiers:similarity", {"extract": self.extract})

    def check(self) -> dict[str, str]:
        try:
            re.compile(self.extract)
        except re.error as error:
            return {"extract": f"must be a regular expression: {error}"}
        return {}


EXAMPLES = [Example("three of four characters in order: 2·3/8", {},
                    [{"text": "abcd", "answer": "abcx"}, {"text": "", "answer": "abcx"}], {"scores": [0.75, 0.0]})]
