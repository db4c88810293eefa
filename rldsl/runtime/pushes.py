"""Weights on their way from the trainer to the engines of an event loop: exported, held back, sent, and scored."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rldsl.axes.control import Action

from .executor import phases, walk
from .protocols import ServingRollout, StreamingRollout
from .run import Run
from .stages_after import held_out
from .work import Work


@dataclass(frozen=True)
class Exported:
    """Weights as they were after `batch` batches, of which `work` was the last."""

    batch: int
    weights: Any
    work: Work


class Pushes:
    """`exported` weights are kept until they are sent; `ordered` is a push that the schedule has asked for and that
    does not count yet; `batch` is of the newest weights that do."""

    def __init__(self, run: Run, stream: StreamingRollout | ServingRollout):
        self.run, self.stream = run, stream
        self.after = phases(run.graph)[2]
        self.exported: Exported | None = None
        self.ordered: Action | None = None
        self.begun: float | None = None
        self.batch = self.evaluated = run.progress.batch
        run.push = self._load

    @property
    def under_way(self) -> bool:
        """Whether weights were sent and nothing was heard of them yet."""
        return self.begun is not None

    def export(self, work: Work) -> None:
        """Keeps the trainer's weights as they are, after the batch `work`."""
        self.exported = Exported(self.run.progress.batch, self.run.trainer.export(), work)

    def step(self, work: Work) -> float | None:
        """Goes on with what is ordered, as far as it goes without waiting for a response: the seconds since weights
        were sent, once they count. Of several sets that are served, one has to have nothing under way; beside the
        others weights travel without being waited for."""
        if self.ordered is None or (self.begun is None and not self._send(work)) or not self._there():
            return None
        action, begun, self.ordered, self.begun = self.ordered, self.begun, None, None
        self.publish(work, reset=action.reset)
        return time.monotonic() - begun

    def _send(self, work: Work) -> bool:
        if self.stream.serves > 1 and not self.stream.free:
            return False
        self.begun = time.monotonic()
        if self.stream.serves > 1:
            if self.exported is None:
                self.export(work)
            self.stream.send(self.exported.batch, self.exported.weights)
        return True

    def _there(self) -> bool:
        return self.stream.serves == 1 or self.stream.arrived

    def publish(self, work: Work, *, reset: bool = False) -> None:
        """Has the engines take over what was exported, or else the weights after the batch `work`; where a held-out
        score is due, it is taken with them."""
        run, sent = self.run, self.exported
        done, work = (run.progress.batch, work) if sent is None else (sent.batch, sent.work)
        walk(run, work, [n for n in self.after if n.kind == "publish"])
        if reset:
            run.trainer.forget()
        for node in run.graph.of("evaluate"):
            every = node.options["every"]
            if done // every > self.evaluated // every or done >= run.settings.steps:
                run.record("evaluate", step=done, metrics=held_out(run, node, done))
        self.evaluated = done

    def left(self) -> tuple[Action, ...]:
        """What is ordered and does not count yet, for a checkpoint."""
        return () if self.ordered is None else (self.ordered,)

    def drop(self) -> None:
        """Forgets what was exported and ordered: the run ends with other weights."""
        self.exported = self.ordered = self.begun = None

    def _load(self) -> str:
        """Brings weights to the engines and waits for their proof; its fingerprint."""
        if self.exported is None:
            self.export(Work(self.run.progress.batch))
        sent, self.exported = self.exported, None
        self.batch = sent.batch
        return self.stream.load(sent.batch, sent.weights)
