"""`10110=` → `1`: 1 if the number of ones among `bits` bits is odd, else 0."""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.types import Bound
from rldsl.environments.tasks.space import Space


class Parity(Space):
    """Parity of a bit string."""

    bits: Annotated[int, Bound(ge=4, le=32)] = 6

    def count(self) -> int:
        """All bit strings."""
        return 2**self.bits

    def problem(self, number: int) -> tuple[str, str]:
        """`bits=` and their parity."""
        return f"{number:0{self.bits}b}=", str(number.bit_count() % 2)
