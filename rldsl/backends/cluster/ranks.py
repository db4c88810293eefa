"""The trainer's processes behind one front: a call goes to all ranks, and they live and die together."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Callable
from typing import Any

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.usage import resident

from . import guard
from .deaths import dead, own_words, stalled

START_DEADLINE = 600.0
"""Seconds that ranks may take to come up and meet."""
DEADLINE = 3600.0
"""Seconds that one call may take."""


class RankActor:
    """One rank in a process of its own. `spec` is a pickled RankSpec: `guard` has to come before what is in it."""

    def __init__(self, spec: bytes, number: int):
        guard.prepare()
        from .rank import Rank

        self._rank = Rank(pickle.loads(spec), number)

    def address(self) -> str:
        """A free port of this process's machine, where all ranks may meet."""
        import ray

        with socket.socket() as s:
            s.bind(("", 0))
            return f"{ray.util.get_node_ip_address()}:{s.getsockname()[1]}"

    def call(self, method: str, *arguments: Any) -> Any:
        """A method of the rank."""
        return getattr(self._rank, method)(*arguments)

    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def resident(self) -> float:
        """Bytes of memory that this process holds."""
        return resident()


class Ranks:
    """All ranks of one trainer. `spawn` starts the process of a rank; where one dies, all are ended.

    RunError RL605 names a rank that died, RL604 one that does not answer; what a rank raises itself is raised here.
    """

    def __init__(self, count: int, spawn: Callable[[int], Any]):
        self._count, self._spawn = count, spawn
        self.actors: list[Any] = []
        self.start()

    def start(self) -> None:
        """Starts every rank, and has them meet and load their models."""
        self.end()
        self.actors = [self._spawn(number) for number in range(self._count)]
        address = self._answers([self.actors[0].address.remote()], "its address", START_DEADLINE)[0]
        self._answers([a.call.remote("join", address) for a in self.actors], "it joins the others", START_DEADLINE)

    def share(self, value: Any) -> Any:
        """A value sent once for any number of calls."""
        import ray

        return ray.put(value)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """What every rank answers to a method, in their order."""
        return self._answers([a.call.remote(method, *arguments) for a in self.actors], method, DEADLINE)

    def end(self) -> None:
        """Ends every rank's process."""
        import ray

        for actor in self.actors:
            ray.kill(actor)
        self.actors = []

    def _answers(self, refs: list[Any], what: str, seconds: float) -> list[Any]:
        """All answers. The first failure ends every rank, unless all ranks have raised it themselves."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        waiting, until, own = list(refs), time.monotonic() + seconds, None
        while waiting:
            come, waiting = ray.wait(waiting, num_returns=1, timeout=max(0.0, until - time.monotonic()))
            if not come:
                number = refs.index(waiting[0])
                self.end()
                raise stalled(f"trainer rank {number}", seconds, what)
            try:
                ray.get(come[0])
            except RayActorError as error:
                number = refs.index(come[0])
                self.end()
                raise RunError(dead(f"trainer rank {number}", error, f"the run waited for it ({what}); the other ranks "
                                    "cannot go on without it and were ended")) from None
            except RayTaskError as error:
                own = own or self._raised(error, refs.index(come[0]))
        if own is not None:
            raise own
        return ray.get(refs)

    def _raised(self, error: Any, number: int) -> Exception:
        """What a rank raised. All raise a RunError or RecipeError together; anything else ends them all at once."""
        from rldsl.diagnostics import RecipeError

        if isinstance(error.cause, (RunError, RecipeError)):
            return error.cause
        self.end()
        raise own_words(error) or RunError(Diagnostic(
            "RL605", f"trainer rank {number} ended", why=str(error).strip().splitlines()[-1],
            fix="`rldsl resume` goes on from the newest checkpoint")) from None


def spawner(spec: Any, place: Callable[[int], Any], gpus: float) -> Callable[[int], Any]:
    """What starts the process of a rank where `place` says, with its share of a GPU."""
    import ray

    packed = pickle.dumps(spec)
    kind = ray.remote(RankActor)

    def spawn(number: int) -> Any:
        return kind.options(
            num_cpus=1, num_gpus=gpus, max_restarts=0, max_task_retries=0, scheduling_strategy=place(number),
            runtime_env={"env_vars": guard.trainer_environment(gpus > 0)}).remote(packed, number)

    return spawn
