"""λ that grows with the response, so that the last reward reaches the first token of a long one.

Differs from a fixed λ: λ(l) = max(0, 1 − 1/(α·l)) with l the response's action tokens; the sum of the weights
λ^0 + λ^1 + … is about α·l whatever the length.
Source: VAPO (arXiv:2504.05118), section 4.2 (α = 0.05); SAO uses α = 1.5.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, maximum
from rldsl.algebra.variables import LENGTH
from rldsl.axes.base import Decay
from rldsl.axes.choice import Example
from rldsl.axes.types import Positive


class LengthAdaptive(Decay):
    positional = 1
    alpha: Positive = 0.05  # about how much of its length a response looks ahead

    def value(self) -> Expr:
        return maximum(0.0, 1.0 - 1.0 / (self.alpha * LENGTH))


EXAMPLES: list[Example] = []
