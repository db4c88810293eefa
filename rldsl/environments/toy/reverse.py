"""`dabc=` → `cbad`: spell a word of `length` letters out of the first `letters` of the alphabet backwards."""

from __future__ import annotations

from typing import Annotated

from rldsl.axes.types import Bound
from rldsl.environments.tasks.space import Space, word


class Reverse(Space):
    """Spell a word backwards."""

    length: Annotated[int, Bound(ge=2, le=16)] = 4
    letters: Annotated[int, Bound(ge=3, le=26)] = 8

    def count(self) -> int:
        """All words."""
        return self.letters**self.length

    def problem(self, number: int) -> tuple[str, str]:
        """`word=` and the word backwards."""
        text = word(number, self.length, self.letters)
        return f"{text}=", text[::-1]
