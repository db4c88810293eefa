"""Bound the prompts that wait in the pool, begun and not yet trained, to so many batches; drop what is older still.

With at most S batches' worth in the pool, a prompt that is trained in its turn waits for S updates at most. One that is
overtaken can wait longer: it is dropped as soon as its oldest token is more than S versions behind the trainer.
Differs from `max_lag`: samples less in the first place, so that less is thrown away.
Source: Ling 2.6 technical report, the staleness manager: |pool| ≤ S·B, and segments beyond the bound are retired (S is
unpublished).
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, le, lowest
from rldsl.algebra.variables import TRAINER_VERSION, VERSION
from rldsl.axes.base import Distribution
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import BOUNDS_LAG
from rldsl.axes.types import Batches


class Admit(Distribution):
    gives = {BOUNDS_LAG}
    staleness: Batches  # batches' worth of prompts in the pool, and most versions between trainer and oldest token, S

    def admits(self) -> int:
        return self.staleness

    def stays(self) -> Expr:
        return le(TRAINER_VERSION - lowest(VERSION, RESPONSE), self.staleness)


EXAMPLES = [Example("trainer at 10: 6 is too old, 7 is not", {"staleness": 3},
                    [tokens(1, 1, versions=[6, 9]), tokens(1, 1, versions=[7, 9])],
                    {"kept": [False, True]}, trainer_version=10)]
