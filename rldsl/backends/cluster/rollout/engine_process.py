"""An engine as the run sees it: the process it lives in, what it is busy with, and whether it still moves."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rldsl.backends.cluster.deaths import dead, own_words, stalled
from rldsl.backends.cluster.guard import engine_environment
from rldsl.backends.cluster.placement import Reserved, part
from rldsl.backends.cluster.weights import Weights
from rldsl.compiler.roles import LENT, ROLLOUT
from rldsl.runtime.errors import RunError

from .actor import RolloutActor
from .streams import EngineSpec, Report, Stream
from .weight_sets import WeightSet

POLL_SECONDS = 0.5
"""How long a poll waits in the engine's process before it comes back empty."""
THREADS = 8
"""Methods of an engine's process that may wait at a time."""


class Gone(Exception):
    """An engine's process is not there any more: what it was asked for last, in words. The cause is Ray's error."""


@dataclass
class EngineProcess:
    """One engine, which `holds` a set of weights. `under_way` are the streams it was given and has not answered;
    `starting` is its answer to the first weights, until it has come, and `loaded` that to the newest; `unconfirmed` are
    answers to streams handed over; `moved` is when it last took a step, or was given something to do after a rest."""

    index: int
    actor: Any
    holds: WeightSet
    under_way: dict[int, Stream] = field(default_factory=dict)
    starting: Any = None
    loaded: Any = None
    polled: Any = None
    unconfirmed: list[Any] = field(default_factory=list)
    progress: int = -1
    moved: float = field(default_factory=time.monotonic)
    deaths: int = 0

    @property
    def name(self) -> str:
        """As messages name it."""
        return f"rollout engine {self.index}"

    def busy_with(self) -> str:
        """What it was given and has not answered, in words; there is something."""
        first = min(self.under_way.values(), key=lambda stream: stream.id).request
        return f"{len(self.under_way)} responses are under way, {first.group}.{first.first} the oldest of them"

    def give(self, streams: Sequence[Stream]) -> None:
        """Hands streams over."""
        if not self.under_way:
            self.moved = time.monotonic()
        self.under_way |= {s.id: s for s in streams}
        self.unconfirmed.append(self.actor.start.remote(streams))

    def poll(self) -> Any:
        """The poll that is under way, or a new one."""
        if self.polled is None:
            self.polled = self.actor.poll.remote(POLL_SECONDS)
        return self.polled

    def report(self, seconds: float) -> Report:
        """The answer to the poll. Gone where there is none, RunError where something ended the engine."""
        polled, self.polled = self.polled, None
        return self.heard(answer(polled, self.name, seconds, "its report"))

    def heard(self, report: Report) -> Report:
        """Notes whether it moved. RunError where something ended it."""
        if report.failure is not None:
            raise RunError(report.failure)
        if report.progress != self.progress:
            self.progress, self.moved = report.progress, time.monotonic()
        return report

    def confirm(self, seconds: float) -> None:
        """Waits until it has everything that it was given."""
        waiting, self.unconfirmed = self.unconfirmed, []
        for given in waiting:
            answer(given, self.name, seconds, f"{len(self.under_way)} responses were handed to it")

    def load(self, version: int, weights: Weights) -> Any:
        """Sends weights, to be loaded after those that were sent before; the engine's answer to wait for."""
        self.loaded = self.actor.load.remote(version, weights.manifest, weights.flat, self.loaded)
        return self.loaded


def answer(ref: Any, who: str, seconds: float, what: str) -> Any:
    """A process's answer. Gone where it is dead, its own RunError where it raised, RunError RL604 after `seconds`."""
    import ray
    from ray.exceptions import GetTimeoutError, ObjectLostError, RayActorError, RayTaskError

    try:
        return ray.get(ref, timeout=seconds)
    except GetTimeoutError:
        raise stalled(who, seconds, what) from None
    except RayActorError as error:
        raise Gone(what) from error
    except ObjectLostError as error:
        raise RunError(dead("the process that held what was sent", error, f"{who} waits for it: {what}")) from None
    except RayTaskError as error:
        raise own_words(error) from None


def spawner(spec: EngineSpec, reserved: Reserved, kind: type[RolloutActor] = RolloutActor) -> Callable[[int], Any]:
    """What starts the process of the engine `index` in its reserved place, which engines of all sets share; it comes up
    while others do. Engines on devices that the trainer lends come after all others."""
    import ray

    packed = pickle.dumps(spec)
    remote = ray.remote(kind)

    def spawn(index: int) -> Any:
        own, at = reserved.count[ROLLOUT], index // spec.sets
        role, place = (ROLLOUT, at) if at < own else (LENT, at - own)
        return remote.options(
            num_cpus=part(1.0, spec.sets), num_gpus=part(reserved.gpus(role), spec.sets), max_concurrency=THREADS,
            max_restarts=0, max_task_retries=0, scheduling_strategy=reserved.strategy(role, place),
            runtime_env={"env_vars": engine_environment(spec.gpu)},
        ).remote(packed)

    return spawn
