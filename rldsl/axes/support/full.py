"""Every token of the vocabulary.

Differs from `top_k`: nothing is left out, and the teacher's whole distribution is computed at each position.
Source: on-policy distillation over the full vocabulary, as DeepSeek-V4 does it.
"""

from __future__ import annotations

from rldsl.algebra.divergence import Divergence
from rldsl.algebra.expr import Expr
from rldsl.axes.parameters import Support


class Full(Support):
    def measure(self, spec: Divergence) -> Expr:
        return -spec.variable


EXAMPLES: list = []
