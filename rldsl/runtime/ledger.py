"""Which prompts have been drawn: every prompt of an epoch is drawn once, in an order that follows from the seed.

A ledger is a value. It goes into every checkpoint, so that a run that is killed draws what it would have drawn.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple


class Draw(NamedTuple):
    """One prompt: row `row` of the data, in pass `epoch` over it."""

    epoch: int
    row: int


@dataclass(frozen=True)
class Ledger:
    """`taken` draws were made from the endless sequence of epochs; `returned` ones come first next time."""

    size: int
    seed: int
    taken: int = 0
    returned: tuple[Draw, ...] = ()

    def take(self, count: int) -> tuple[Ledger, tuple[Draw, ...]]:
        """The next `count` draws, and the ledger after them."""
        again, fresh = self.returned[:count], max(0, count - len(self.returned))
        new = tuple(self._draw(self.taken + i) for i in range(fresh))
        return replace(self, taken=self.taken + fresh, returned=self.returned[count:]), again + new

    def give_back(self, draws: Iterable[Draw]) -> Ledger:
        """The ledger after draws that were not used; they are the next to be taken."""
        return replace(self, returned=(*draws, *self.returned))

    def _draw(self, place: int) -> Draw:
        epoch, offset = divmod(place, self.size)
        return Draw(epoch, _order(self.size, self.seed, epoch)[offset])

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Ledger:
        """The inverse of `to_json`."""
        return Ledger(**{**data, "returned": tuple(Draw(*d) for d in data["returned"])})


@lru_cache(maxsize=2)
def _order(size: int, seed: int, epoch: int) -> tuple[int, ...]:
    order = list(range(size))
    random.Random(f"order/{seed}/{epoch}").shuffle(order)
    return tuple(order)
