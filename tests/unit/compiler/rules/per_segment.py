"""Every segment of a compacted trajectory weighs the same."""

from __future__ import annotations

from rldsl.algebra.expr import SEGMENT, UPDATE, Expr, total
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import Reduction


class PerSegment(Reduction):
    def weight(self, live: Expr) -> Expr:
        inside = total(TOKENS, SEGMENT)
        return live / (total(inside / inside, UPDATE) * inside)
