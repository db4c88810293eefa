"""A trainer whose weights reach the engines: publishing sends them, and they count once every engine proved them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from rldsl.runtime.batch import Math
from rldsl.runtime.protocols import Cutting, TrainEngine, UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from .rollouts import Rollouts
from .weights import Weights


class Exporter(TrainEngine, Protocol):
    """A trainer that gives its weights away instead of sampling with them; its `publish` is never called."""

    def export(self) -> Weights:
        """The policy's weights under their Hugging Face names, in the dtype that samples."""


class Publisher:
    """Implements `rldsl.runtime.protocols` TrainEngine over a trainer and the engines. `pushed` hears of each publish:
    the version, its bytes, and the seconds from the trainer's weights to the last engine's proof."""

    def __init__(self, trainer: Exporter, rollouts: Rollouts, pushed: Callable[[int, int, float], None]):
        self.trainer, self.rollouts, self._pushed = trainer, rollouts, pushed
        self.math: Math = trainer.math

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str],
                 cutting: Cutting) -> dict[str, object]:
        """See TrainEngine."""
        return self.trainer.logprobs(policy, rows, wants, cutting)

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> object:
        """See TrainEngine."""
        return self.trainer.values(rows, cutting)

    def update(self, job: UpdateJob) -> Tally:
        """See TrainEngine."""
        return self.trainer.update(job)

    def publish(self) -> str:
        """See TrainEngine."""
        return self._send(self.rollouts.version + 1)

    def save(self, folder: Path) -> None:
        """See TrainEngine."""
        self.trainer.save(folder)

    def load(self, folder: Path, version: int) -> None:
        """See TrainEngine. The engines take the restored weights over."""
        self.trainer.load(folder, version)
        self._send(version)

    def first(self) -> str:
        """Sends the weights that training begins with, as version 0; their fingerprint."""
        return self._send(0)

    def _send(self, version: int) -> str:
        found = self.rollouts.load(version, self.trainer.export())
        self._pushed(version, *self.rollouts.pushed)
        return found
