"""Scorers as a role of the cluster: each runs on the node of an actor, which passes bytes on and runs nothing itself.

What is sent, what is believed of the answers, when a scorer is overdue and what it costs is the pool's, as it is for
scorers beside the driver (`rldsl.runtime.scoring`).
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rldsl.compiler.roles import REWARD
from rldsl.runtime.scoring_pipes import KILL_DEADLINE, PipeLink, news, start
from rldsl.runtime.scoring_process import ScoringProcess, Setup

from .deaths import reason
from .placement import Reserved

WAIT = 0.25
"""Seconds that an exchange waits in the actor for an answer: so long may another call wait for its turn."""


class RewardActor:
    """One scorer of its node, in a process of its own; wrapped by Ray, and used by one thread."""

    link: PipeLink

    def begin(self, setup: bytes) -> None:
        """Starts the scorer of a pickled Setup."""
        self.link, self.unsent, self.broken = start(pickle.loads(setup)), bytearray(), False

    def exchange(self, data: bytes) -> bytes | None:
        """Passes `data` on to the scorer; what it has answered since: None for nothing yet, b"" at its end."""
        self.unsent += data
        self.push()
        until = time.monotonic() + WAIT
        while not news([self], max(0.0, until - time.monotonic())):
            if time.monotonic() >= until:
                return None
        return self.link.read()

    def push(self) -> None:
        """Writes what the scorer takes now."""
        if self.unsent and not self.link.write(self.unsent):
            self.broken = True

    def kill(self) -> str:
        """Ends the scorer; how it ended, in words."""
        return self.link.kill()

    def pid(self) -> int:
        """The number of the actor's process."""
        return os.getpid()


@dataclass
class ActorLink:
    """Implements `Link` to the scorer of an actor, once that has `begun`. `death` says how the actor itself ended."""

    actor: Any
    begun: Any
    outbox: bytearray = field(default_factory=bytearray)
    under_way: Any = None
    death: str | None = None

    def write(self, data: bytearray) -> bool:
        """See Link."""
        self.outbox += data
        data.clear()
        return self.death is None

    def exchange(self) -> Any:
        """The exchange that is under way, or a new one with what is to go out."""
        if self.under_way is None:
            self.under_way = self.actor.exchange.remote(bytes(self.outbox))
            self.outbox.clear()
        return self.under_way

    def read(self) -> bytes | None:
        """See Link. An actor that is gone is the end of all output."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        ended, self.under_way = self.under_way, None
        try:
            ray.get(self.begun)
            return None if ended is None else ray.get(ended)
        except (RayActorError, RayTaskError) as error:
            self.death = reason(error)
            return b""

    def kill(self) -> str:
        """See Link. An actor that does not answer is ended too."""
        import ray
        from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError

        if self.death is None:
            try:
                return ray.get(self.actor.kill.remote(), timeout=KILL_DEADLINE)
            except GetTimeoutError:
                self.death = f"it did not answer for {KILL_DEADLINE:g} s"
            except (RayActorError, RayTaskError) as error:
                self.death = reason(error)
        ray.kill(self.actor)
        return f"with its actor: {self.death}"


class RewardSite:
    """Implements `Site`: one actor a place, started by `spawn`; it is kept when only its scorer has ended."""

    def __init__(self, spawn: Callable[[int], Any]):
        self._spawn = spawn
        self._links: dict[int, ActorLink] = {}

    def start(self, setup: Setup, place: int) -> ActorLink:
        """See Site."""
        last = self._links.get(place)
        actor = self._spawn(place) if last is None or last.death is not None else last.actor
        path = [entry or os.getcwd() for entry in sys.path]
        begun = actor.begin.remote(pickle.dumps(replace(setup, path=(*setup.path, *path))))
        self._links[place] = ActorLink(actor, begun)
        return self._links[place]

    def wait(self, processes: Sequence[ScoringProcess], seconds: float) -> Sequence[ScoringProcess]:
        """See Site."""
        import ray

        asked = {p.link.exchange(): p for p in processes if not p.broken and (p.jobs or not p.ready)}
        if not asked:
            return []
        ray.wait(list(asked), num_returns=1, timeout=seconds)
        come, _ = ray.wait(list(asked), num_returns=len(asked), timeout=0)
        return [asked[ref] for ref in come]

    def close(self) -> None:
        """See Site."""
        import ray

        for link in self._links.values():
            ray.kill(link.actor)


def spawner(reserved: Reserved) -> Callable[[int], Any]:
    """What starts the actor of a place in its reserved bundle."""
    import ray

    kind = ray.remote(RewardActor)

    def spawn(place: int) -> Any:
        return kind.options(num_cpus=1, max_restarts=0, max_task_retries=0,
                            scheduling_strategy=reserved.strategy(REWARD, place)).remote()

    return spawn
