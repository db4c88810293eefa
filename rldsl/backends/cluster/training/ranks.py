"""The processes of one role behind one front: a call goes to all ranks, and they live and die together."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rldsl.backends.cluster import guard
from rldsl.backends.cluster.deaths import dead, own_words, stalled
from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.usage import resident

if TYPE_CHECKING:
    from .rank import RankSpec

START_DEADLINE = 600.0
"""Seconds that ranks may take to come up and meet."""
DEADLINE = 3600.0
"""Seconds that one call may take."""
GRACE = 5.0
"""Seconds that Ray may take to find that a process is gone."""


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


class CriticRankActor(RankActor):
    """One rank of a critic that has ranks of its own."""


class FrozenRankActor(RankActor):
    """One rank of a model that nobody trains."""


class Ranks:
    """All ranks of one role, called `name` in messages. `spawn` starts the process of a rank; where one dies, all are
    ended.

    RunError RL605 names a rank that died, RL604 one that does not answer; what a rank raises itself is raised here.
    """

    def __init__(self, name: str, count: int, spawn: Callable[[int], Any]):
        self.name, self._count, self._spawn = name, count, spawn
        self.actors: list[Any] = []

    def spawn(self) -> None:
        """Starts the process of every rank anew."""
        self.end()
        self.actors = [self._spawn(number) for number in range(self._count)]

    def meet(self) -> Callable[[], Any]:
        """Has the ranks meet and load their models; what is given waits until they have."""
        address = self._answers([self.actors[0].address.remote()], "its address", START_DEADLINE)[0]
        joined = [a.call.remote("join", address) for a in self.actors]
        return lambda: self._answers(joined, "it joins the others", START_DEADLINE)

    def share(self, value: Any) -> Any:
        """A value sent once for any number of calls."""
        import ray

        return ray.put(value)

    def begin(self, method: str, *arguments: Any) -> Callable[[], list[Any]]:
        """Has every rank call a method; what is given waits for their answers, in their order."""
        asked = [a.call.remote(method, *arguments) for a in self.actors]
        return lambda: self._answers(asked, method, DEADLINE)

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all ranks to a method."""
        return self.begin(method, *arguments)()

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
                raise stalled(f"{self.name} rank {number}", seconds, what)
            try:
                ray.get(come[0])
            except RayActorError as error:
                raise self._died(error, refs.index(come[0]), what) from None
            except RayTaskError as error:
                own = own or self._raised(error, refs, come[0], what)
        if own is not None:
            raise own
        return ray.get(refs)

    def _died(self, error: Any, number: int, what: str) -> RunError:
        self.end()
        return RunError(dead(f"{self.name} rank {number}", error, f"the run waited for it ({what}); the other ranks "
                             "cannot go on without it and were ended"))

    def _raised(self, error: Any, refs: list[Any], ref: Any, what: str) -> Exception:
        """What a rank raised. All raise a RunError or RecipeError together; anything else ends them all at once, and
        where another rank has died, that is said: its neighbours see a broken connection before Ray knows of it."""
        from rldsl.diagnostics import RecipeError

        if isinstance(error.cause, (RunError, RecipeError)):
            return error.cause
        for number, found in self._deaths(refs):
            raise self._died(found, number, what) from None
        self.end()
        raise own_words(error) or RunError(Diagnostic(
            "RL605", f"{self.name} rank {refs.index(ref)} ended", why=str(error).strip().splitlines()[-1],
            fix="`rldsl resume` goes on from the newest checkpoint")) from None

    @staticmethod
    def _deaths(refs: list[Any]) -> Iterator[tuple[int, Any]]:
        """The ranks that are dead, or that Ray finds so within GRACE."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        until = time.monotonic() + GRACE
        for number, ref in enumerate(refs):
            try:
                ray.get(ref, timeout=max(0.0, until - time.monotonic()))
            except RayActorError as error:
                yield number, error
            except (RayTaskError, ray.exceptions.GetTimeoutError):
                continue


def start(groups: Iterable[Ranks]) -> None:
    """Starts the ranks of several roles at the same time, and waits until all can be asked."""
    groups = list(groups)
    for group in groups:
        group.spawn()
    for met in [group.meet() for group in groups]:
        met()


def spawner(spec: RankSpec, place: Callable[[int], Any], gpus: float) -> Callable[[int], Any]:
    """What starts the process of a rank where `place` says, with its share of a GPU."""
    import ray

    packed = pickle.dumps(spec)
    kind = ray.remote(RankActor if spec.policy else CriticRankActor if spec.critic else FrozenRankActor)

    def spawn(number: int) -> Any:
        return kind.options(
            num_cpus=1, num_gpus=gpus, max_restarts=0, max_task_retries=0, scheduling_strategy=place(number),
            runtime_env={"env_vars": guard.trainer_environment(gpus > 0)}).remote(packed, number)

    return spawn
