"""Drop a response whose oldest token was sampled too many weight versions ago.

Differs from a correction: the response leaves before the advantage and leaves every denominator.
Source: GLM-5 technical report, asynchronous agentic RL (the threshold is unpublished).
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, le, lowest
from rldsl.algebra.variables import TRAINER_VERSION, VERSION
from rldsl.axes.base import Distribution
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import BOUNDS_LAG
from rldsl.axes.types import Natural


class MaxLag(Distribution):
    positional = 1
    gives = {BOUNDS_LAG}
    versions: Natural  # most versions between the trainer and the oldest token

    def stays(self) -> Expr:
        return le(TRAINER_VERSION - lowest(VERSION, RESPONSE), self.versions)


EXAMPLES = [Example("trainer at 10: 6 is too old, 7 is not", {"versions": 3},
                    [tokens(1, 1, 1, versions=[6, 7, 8]), tokens(1, 1, 1, versions=[7, 8, 9])],
                    {"kept": [False, True]}, trainer_version=10)]
