"""Mask the tokens that were sampled too many weight versions ago; the rest of their response stays.

Differs from `max_lag`: drops tokens, not responses, and by default what is dropped stays in the denominators.
Source: DeepSeek-V4.1 technical report, masking of stale tokens (the threshold is unpublished).
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, le
from rldsl.algebra.variables import TRAINER_VERSION, VERSION
from rldsl.axes.base import Mask
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import BOUNDS_LAG
from rldsl.axes.types import Denominator, Natural


class MaskStale(Mask):
    positional = 1
    gives = {BOUNDS_LAG}
    versions: Natural  # most versions between the trainer and a token
    denominator: Denominator = "all"  # whether dropped tokens still count in the denominators

    def keeps(self) -> Expr:
        return le(TRAINER_VERSION - VERSION, self.versions)


EXAMPLES = [Example("trainer at 10", {"versions": 3}, [tokens(1, 1, 1, versions=[6, 7, 8])],
                    {"correction": [[0.0, 1.0, 1.0]], "kept": [True]}, trainer_version=10)]
