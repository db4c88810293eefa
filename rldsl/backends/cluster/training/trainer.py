"""Training over the ranks of all roles as one engine: rows go out once, columns come back in the rows' order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rldsl.algebra.variables import LOGP
from rldsl.backends.cluster.judging.judges import Judges
from rldsl.backends.cluster.weights import Weights, pack
from rldsl.backends.local.training.teachers import Teachers, weighted
from rldsl.backends.torch_math import TorchMath
from rldsl.compiler.roles import CRITIC, JUDGE, REFERENCE, TRAIN
from rldsl.runtime.protocols import Cutting, UpdateJob
from rldsl.runtime.tally import Tally
from rldsl.runtime.trajectory import Trajectory

from .parcel import packed
from .rank import Share
from .ranks import Ranks, start

MODELS = {"ref": REFERENCE}
"""Names of models where the runtime asks for log-probs under another one."""


class Group(Protocol):
    """All ranks of a role: see `ranks.Ranks`."""

    actors: list[Any]

    def share(self, value: Any) -> Any:
        """A value sent once for any number of calls."""

    def begin(self, method: str, *arguments: Any) -> Callable[[], list[Any]]:
        """Has every rank call a method; what is given waits for their answers, in their order."""

    def end(self) -> None:
        """Ends every rank's process."""


def stored(dtype: str, tensors: Mapping[str, Tensor]) -> Weights:
    """The tensors as one buffer in Ray's object store; called in the process that holds them."""
    import ray

    manifest, flat = pack(tensors, dtype)
    return Weights(manifest, ray.put(flat))


class ClusterTrainer:
    """Implements `rldsl.runtime.protocols` TrainEngine over the ranks of all roles.

    `group` trains the policy and holds every model that `apart`, {name of a model: its own ranks}, does not name.
    `teachers` are names of models, `judges` the processes that are asked in texts. `load` has the engines that sample
    take over a version and says what they then hold; weights travel in `dtype`.
    """

    def __init__(self, group: Ranks, load: Callable[[int, Weights], str], dtype: str, *,
                 apart: Mapping[str, Group] | None = None, teachers: Teachers | None = None,
                 judges: Judges | None = None):
        self.group, self.version, self.dtype, self._apart = group, 0, dtype, dict(apart or {})
        self.math = TorchMath()
        self._load, self._teachers, self._judges = load, teachers, judges

    def logprobs(self, policy: str, rows: Sequence[Trajectory], wants: Sequence[str],
                 cutting: Cutting) -> dict[str, Tensor]:
        """See TrainEngine. Before an update, `old` is the current policy."""
        if policy == "teacher":
            return {name: self.math.column(self._taught(rows, cutting)) for name in wants}
        asked = {name: name if policy == "current" else LOGP.name for name in wants}
        quantities = tuple(dict.fromkeys(asked.values()))
        found = self._columns(MODELS.get(policy, policy), rows, quantities, cutting)()
        return {name: found[quantity] for name, quantity in asked.items()}

    def _taught(self, rows: Sequence[Trajectory], cutting: Cutting) -> Tensor:
        """The teachers' log-prob of each action token; all of them are asked before one is waited for."""
        asked = {name: self._columns(name, [rows[i] for i in mine], (LOGP.name,), cutting)
                 for name, mine, _ in self._teachers.shares(rows)}
        found = {name: wait()[LOGP.name] for name, wait in asked.items()}
        return weighted(self._teachers, rows, lambda name, mine, tokens: found[name].float(), self.math.device)

    def values(self, rows: Sequence[Trajectory], cutting: Cutting) -> Tensor:
        """See TrainEngine."""
        return self._over(CRITIC, rows, ("values",), lambda ranks, shared: ranks.begin(
            "values", shared, cutting))()["values"]

    def replies(self, role: str, asked: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """See TrainEngine."""
        return self._judges.replies(role, asked, cutting)

    def valued(self, responses: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """See TrainEngine."""
        return self._judges.valued(responses, cutting)

    def update(self, job: UpdateJob) -> Tally:
        """See TrainEngine. Policy and critic step at the same time where each has its ranks."""
        tally, rows, parcel = Tally(), self.group.share(list(job.rows)), self.group.share(packed(job))
        for answers in [group.begin("update", rows, parcel) for group in self.learning()]:
            for part in answers():
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
        """See TrainEngine. Every rank writes its own files, and the first of each role its models whole, for a stage
        that begins with them: the folder is one that all of them see."""
        self._all_learning("save", folder)
        self._all_learning("write", folder)

    def load(self, folder: Path, version: int) -> None:
        """See TrainEngine. The engines that sample take over what was restored."""
        self._all_learning("load", folder)
        self.deliver(version)
        self.version = version

    def learning(self) -> list[Ranks]:
        """The ranks of all models that are trained: they live and die together."""
        return [self.group, *(ranks for name, ranks in self._apart.items() if name == CRITIC)]

    def actors(self) -> dict[str, list[Any]]:
        """{role: its processes} of all that hold models."""
        asked = {} if self._judges is None else {JUDGE: self._judges.actors()}
        return {TRAIN: self.group.actors, **{name: ranks.actors for name, ranks in self._apart.items()}, **asked}

    def alive(self) -> bool:
        """Whether all ranks that train are there."""
        return all(group.actors for group in self.learning())

    def start(self) -> None:
        """All ranks that train anew, before a checkpoint is loaded: after one of them has died."""
        start(self.learning())

    def end(self) -> None:
        """Ends the ranks of every role."""
        for ranks in (self.group, *self._apart.values()):
            ranks.end()

    def _all_learning(self, method: str, folder: Path) -> None:
        for answers in [group.begin(method, folder) for group in self.learning()]:
            answers()

    def _columns(self, model: str, rows: Sequence[Trajectory], names: Sequence[str],
                 cutting: Cutting) -> Callable[[], dict[str, Tensor]]:
        """Has a model compute the named quantities of all rows; what is given waits for the columns."""
        return self._over(model, rows, names, lambda ranks, shared: ranks.begin(
            "logprobs", model, shared, names, cutting))

    def _over(self, model: str, rows: Sequence[Trajectory], names: Sequence[str],
              ask: Callable[[Group, Any], Callable[[], list[Any]]]) -> Callable[[], dict[str, Tensor]]:
        """The named columns over all rows, from every shard's part of them; `ask` asks the ranks that hold a model."""
        if not rows:
            return lambda: {name: self.math.column([]) for name in names}
        ranks = self._apart.get(model, self.group)
        answers = ask(ranks, ranks.share(list(rows)))
        return lambda: self._joined([part for part in answers() if part is not None], rows, names)

    def _joined(self, parts: Sequence[Share], rows: Sequence[Trajectory], names: Sequence[str]) -> dict[str, Tensor]:
        order = [i for part in parts for i in part.positions]
        found = {}
        for name in names:
            column = self.math.column(np.concatenate([part.columns[name] for part in parts]))
            each = dict(zip(order, column.split([len(rows[i].tokens) for i in order]), strict=True))
            found[name] = torch.cat([each[i] for i in range(len(rows))])
        return found
