"""Weights that engines sample with: one set at a time, or several beside one another, and a set that is on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rldsl.backends.cluster.weights import Weights

from .streams import Stream

if TYPE_CHECKING:
    from .engine_process import EngineProcess


@dataclass(eq=False)
class WeightSet:
    """Weights that one engine of every place holds, and which end the responses that they began. None before the first
    are sent; `waiting` are streams that no engine of the set can take yet."""

    version: int = 0
    weights: Weights | None = None
    waiting: list[Stream] = field(default_factory=list)

    def give_up(self) -> list[Stream]:
        """What waits, which then does so no more."""
        waiting, self.waiting = self.waiting, []
        return waiting


@dataclass(frozen=True)
class Sent:
    """Weights on their way into a set since `begun`; `to` are its engines, each with its answer to wait for."""

    target: WeightSet
    version: int
    weights: Weights
    begun: float
    to: Sequence[tuple[EngineProcess, Any]]

    def answered(self) -> bool:
        """Whether every engine has answered, or is dead."""
        import ray

        refs = [ref for _, ref in self.to]
        return len(ray.wait(refs, num_returns=len(refs), timeout=0)[0]) == len(refs)
