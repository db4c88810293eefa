"""`12+7=` → `19`: both numbers have at most `digits` digits."""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.types import Bound
from rldsl.environments.tasks.space import Space


class Addition(Space):
    """Sum of two natural numbers."""

    digits: Annotated[int, Bound(ge=1, le=6)] = 2

    def count(self) -> int:
        """All pairs below 10^digits."""
        return 100**self.digits

    def problem(self, number: int) -> tuple[str, str]:
        """`a+b=` and the sum."""
        a, b = divmod(number, 10**self.digits)
        return f"{a}+{b}=", str(a + b)
