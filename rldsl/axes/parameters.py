"""Base classes of choices that are a parameter of another choice."""

from __future__ import annotations

from rldsl.algebra.divergence import Divergence
from rldsl.algebra.expr import Expr

from .choice import Choice


class Support(Choice):
    """The tokens at each position over which two distributions are compared."""

    axis = "support"

    def measure(self, spec: Divergence) -> Expr:
        """The term that is maximised, token grain: minus the divergence, or what has its expected gradient."""
        raise TypeError(f"{self.name} measures nothing")

    def tempered(self) -> bool:
        """Whether the distributions can be softened before they are compared."""
        return True
