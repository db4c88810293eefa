"""The teacher's k most likely tokens at each position.

Differs from `full`: what the teacher finds unlikely has no say. `rest: rescale` makes both distributions sum to 1 over
the k tokens, which is then a divergence; `rest: drop` leaves the probabilities as they are and drops the other tokens'
part of the sum, which can be negative.
Source: NeMo-RL `DistillationLossFn`, `zero_outside_topk: false` (rescale); verl `compute_forward_kl_topk` (drop).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from rldsl.algebra.divergence import Divergence
from rldsl.algebra.expr import Expr
from rldsl.axes.parameters import Support
from rldsl.axes.types import Count


class TopK(Support):
    positional = 1
    k: Count  # tokens kept at each position
    rest: Literal["rescale", "drop"] = "rescale"  # what becomes of the other tokens' probability

    def measure(self, spec: Divergence) -> Expr:
        return -replace(spec, top=self.k, rescaled=self.rest == "rescale").variable


EXAMPLES: list = []
