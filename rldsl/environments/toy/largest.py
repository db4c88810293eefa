"""`3718=` → `8`: the largest of `length` digits."""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.types import Bound
from rldsl.environments.tasks.space import Space


class Largest(Space):
    """Largest digit."""

    length: Annotated[int, Bound(ge=2, le=16)] = 4

    def count(self) -> int:
        """All digit strings."""
        return 10**self.length

    def problem(self, number: int) -> tuple[str, str]:
        """`digits=` and the largest of them."""
        text = f"{number:0{self.length}d}"
        return f"{text}=", max(text)
