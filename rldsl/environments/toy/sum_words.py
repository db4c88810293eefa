"""`Calculate 3 + 4. Reply with the number only.` → `7`: for small instructed language models."""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.types import Bound
from rldsl.environments.tasks.space import Space


class SumWords(Space):
    """Sum of two natural numbers, asked in a sentence."""

    digits: Annotated[int, Bound(ge=1, le=6)] = 1

    def count(self) -> int:
        """All pairs below 10^digits."""
        return 100**self.digits

    def problem(self, number: int) -> tuple[str, str]:
        """The sentence and the sum."""
        a, b = divmod(number, 10**self.digits)
        return f"Calculate {a} + {b}. Reply with the number only.", str(a + b)
