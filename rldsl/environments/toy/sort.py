"""`3142=` → `1234`: put `length` digits into ascending order."""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.types import Bound
from rldsl.environments.tasks.space import Space


class Sort(Space):
    """Sort digits."""

    length: Annotated[int, Bound(ge=2, le=16)] = 3

    def count(self) -> int:
        """All digit strings."""
        return 10**self.length

    def problem(self, number: int) -> tuple[str, str]:
        """`digits=` and the digits sorted."""
        text = f"{number:0{self.length}d}"
        return f"{text}=", "".join(sorted(text))
