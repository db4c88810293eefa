"""Training over all ranks as one engine: rows go out once, columns come back in the rows' order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rldsl.algebra.variables import LOGP
from rldsl.backends.torch_math import TorchMath
from rldsl.runtime.protocols import Cutting, UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from .parcel import packed
from .weights import Weights, pack


class Group(Protocol):
    """All ranks: see `ranks.Ranks`."""

    def share(self, value: Any) -> Any:
        """A value sent once for any number of calls."""

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What every rank answers to a method, in their order."""

    def start(self) -> None:
        """Starts every rank anew."""


def stored(dtype: str, tensors: Mapping[str, Tensor]) -> Weights:
    """The tensors as one buffer in Ray's object store; called in the process that holds them."""
    import ray

    manifest, flat = pack(tensors, dtype)
    return Weights(manifest, ray.put(flat))


class ClusterTrainer:
    """Implements `rldsl.runtime.protocols` TrainEngine over the ranks of a group.

    `load` has the engines that sample take over a version and says what they then hold; weights travel in `dtype`.
    """

    def __init__(self, group: Group, load: Callable[[int, Weights], str], dtype: str):
        self.group, self.version, self.dtype = group, 0, dtype
        self.math = TorchMath()
        self._load = load

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str],
                 cutting: Cutting) -> dict[str, Tensor]:
        """See TrainEngine. Before an update, `old` is the current policy."""
        asked = {name: name if policy == "current" else LOGP.name for name in wants}
        quantities = tuple(dict.fromkeys(asked.values()))
        found = self._columns(rows, quantities, "logprobs", policy, self.group.share(list(rows)), quantities, cutting)
        return {name: found[quantity] for name, quantity in asked.items()}

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> Tensor:
        """See TrainEngine."""
        return self._columns(rows, ("values",), "values", self.group.share(list(rows)), cutting)["values"]

    def update(self, job: UpdateJob) -> Tally:
        """See TrainEngine."""
        tally = Tally()
        for part in self.group.call("update", self.group.share(list(job.rows)), self.group.share(packed(job))):
            tally.include(part or Tally())
        return tally

    def publish(self) -> str:
        """See TrainEngine."""
        fingerprint = self.deliver(self.version + 1)
        self.version += 1
        return fingerprint

    def deliver(self, version: int) -> str:
        """Has the engines that sample take over the weights as they are, as this version; their fingerprint."""
        return self._load(version, self.export())

    def export(self) -> Weights:
        """See TrainEngine: one buffer in Ray's object store."""
        return next(w for w in self.group.call("export", partial(stored, self.dtype)) if w is not None)

    def forget(self) -> None:
        """See TrainEngine."""
        self.group.call("forget")

    def save(self, folder: Path) -> None:
        """See TrainEngine. Every rank writes its own files, and the first the whole models, for a stage that begins
        with them: the folder is one that all of them see."""
        self.group.call("save", folder)
        self.group.call("write", folder)

    def load(self, folder: Path, version: int) -> None:
        """See TrainEngine. The engines that sample take over what was restored."""
        self.group.call("load", folder)
        self.deliver(version)
        self.version = version

    def restart(self, folder: Path, version: int) -> None:
        """All ranks anew, from a checkpoint: after one of them has died."""
        self.group.start()
        self.load(folder, version)

    def _columns(self, rows: Sequence[Trajectory], names: Sequence[str], *call: Any) -> dict[str, Tensor]:
        """The named columns over all rows, from every shard's part of them."""
        if not rows:
            return {name: self.math.column([]) for name in names}
        parts = [part for part in self.group.call(*call) if part is not None]
        order = [i for part in parts for i in part.positions]
        found = {}
        for name in names:
            column = self.math.column(np.concatenate([part.columns[name] for part in parts]))
            each = dict(zip(order, column.split([len(rows[i].tokens) for i in order]), strict=True))
            found[name] = torch.cat([each[i] for i in range(len(rows))])
        return found
