"""All processes that are asked, behind one front: they share the questions, and those that die are replaced."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rldsl.backends.cluster import guard
from rldsl.backends.cluster.deaths import dead, own_words, stalled
from rldsl.backends.cluster.placement import Reserved
from rldsl.backends.cluster.weights import Weights
from rldsl.compiler.roles import JUDGE
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Request, SamplingOptions, Trajectory
from rldsl.runtime.usage import resident

if TYPE_CHECKING:
    from .seat import SeatSpec

DEADLINE, START_DEADLINE = 600.0, 600.0
"""Seconds that one piece of questions may take, and that a process may take to come up before its first."""
DEATHS = 3
"""Times that one process is replaced; the next death ends the run."""
LARGEST = 256
"""Most questions, and most prompts to be begun, of one piece: what a death costs, and what a deadline holds for."""
HIDDEN = {"CUDA_VISIBLE_DEVICES": ""}
"""Keeps a process off the GPUs of its machine."""


class JudgeActor:
    """One process that is asked. `spec` is a pickled SeatSpec: `guard` has to come before what is in it."""

    def __init__(self, spec: bytes):
        self._spec, self._seat = spec, None

    def begin(self) -> None:
        """Loads the models; a second time, nothing."""
        if self._seat is None:
            guard.prepare()
            from .seat import Seat

            self._seat = Seat(pickle.loads(self._spec))

    def ask(self, method: str, version: int, manifest: Any, flat: Any, *arguments: Any) -> Any:
        """A method of the seat, with the policy's weights of a version where there are some."""
        self.begin()
        if manifest is not None:
            self._seat.take(version, manifest, flat)
        return getattr(self._seat, method)(*arguments)

    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def resident(self) -> float:
        """Bytes of memory that this process holds."""
        return resident()


@dataclass
class Process:
    """One process. `piece` is the number of what it was asked at `since`; one that is `fresh` has answered nothing."""

    index: int
    actor: Any
    deaths: int = 0
    fresh: bool = True
    piece: int = 0
    since: float = 0.0

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"judge {self.index}"


class Judges:
    """Asks `count` processes that hold the same models; whoever calls waits for its turn and for its answers.

    `spawn` starts the process of a place, `tell` hears of one that died and was replaced; the policy is among the
    models where they `follow` it. Answers depend on questions alone, so a death costs nothing but time. RunError RL605
    names a process that died too often, RL604 one that does not answer; what a process raises itself is raised here.
    """

    def __init__(self, count: int, spawn: Callable[[int], Any], tell: Callable[[Diagnostic], None],
                 deadline: float = DEADLINE, *, follows: bool = True):
        self._spawn, self._tell, self.deadline, self._follows = spawn, tell, deadline, follows
        self._processes = [Process(i, spawn(i)) for i in range(count)]
        self._lock = threading.Lock()
        self._weights: tuple[int, Weights | None] = (0, None)

    def begin(self) -> None:
        """Waits until every process has its models."""
        self._asked("begin", [()] * len(self._processes))

    def follow(self, version: int, weights: Weights) -> None:
        """From the next question on, the policy is asked as this version, where it is asked at all."""
        if self._follows:
            self._weights = (version, weights)

    def replies(self, role: str, asked: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """See TrainEngine."""
        parts = self._pieces(asked, 2)  # a question's two replies stay together, and its tokens are computed once
        return [said for part in self._asked("replies", [(role, p, cutting) for p in parts]) for said in part]

    def valued(self, responses: Sequence[tuple[str, str]], cutting: Cutting) -> list[float | None]:
        """See TrainEngine."""
        return [said for part in self._asked("valued", [(p, cutting) for p in self._pieces(responses)])
                for said in part]

    def sample(self, policy: str, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               version: int) -> list[Trajectory]:
        """See RolloutEngine."""
        parts = self._pieces(requests)
        return [t for part in self._asked("sample", [(policy, p, options, batch, version) for p in parts])
                for t in part]

    def actors(self) -> list[Any]:
        """Every process."""
        return [process.actor for process in self._processes]

    def close(self) -> None:
        """Ends every process."""
        import ray

        for process in self._processes:
            ray.kill(process.actor)

    def _pieces(self, items: Sequence[Any], whole: int = 1) -> list[list[Any]]:
        """The items cut into fair shares, of a multiple of `whole` and `LARGEST` at most."""
        fair = -(-len(items) // (len(self._processes) * whole)) * whole
        size = min(LARGEST, max(fair, whole))
        return [list(items[i:i + size]) for i in range(0, len(items), size)]

    def _asked(self, method: str, pieces: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers to all pieces, in their order; each goes to whoever is free."""
        import ray

        with self._lock:
            version, weights = self._weights
            ahead = (version, *((weights.manifest, weights.flat) if weights else (None, None)))
            waiting, found = deque(range(len(pieces))), {}
            idle, busy = list(self._processes), {}
            while len(found) < len(pieces):
                while idle and waiting:
                    process = idle.pop(0)
                    process.piece, process.since = waiting.popleft(), time.monotonic()
                    call = (process.actor.begin.remote() if method == "begin" else
                            process.actor.ask.remote(method, *ahead, *pieces[process.piece]))
                    busy[call] = process
                come, _ = ray.wait(list(busy), num_returns=1, timeout=self._left(busy.values(), method))
                if not come:
                    self._require_answers(busy.values(), method)
                for ref in come:
                    process = busy.pop(ref)
                    done, answer = self._taken(process, ref, method)
                    if done:
                        found[process.piece] = answer
                    else:
                        waiting.appendleft(process.piece)
                    idle.append(self._processes[process.index])
            return [found[i] for i in range(len(pieces))]

    def _taken(self, process: Process, ref: Any, method: str) -> tuple[bool, Any]:
        """Whether a process has answered, and what; one that died is replaced."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            answer = ray.get(ref)
        except RayActorError as error:
            self._replace(process, error, method)
            return False, None
        except RayTaskError as error:
            if isinstance(error.cause, (RunError, RecipeError)):
                raise error.cause from None
            raise own_words(error) from None
        process.fresh = False
        return True, answer

    def _replace(self, process: Process, error: Exception, method: str) -> None:
        import ray

        if process.deaths == DEATHS:
            raise RunError(dead(process.name, error, f"the run waited for it ({method}); it was replaced "
                                f"{DEATHS} times before"))
        self._tell(replace(dead(process.name, error, f"the run waited for it ({method}); another one starts in its "
                                "place and is asked again", severity="warning")))
        ray.kill(process.actor)
        self._processes[process.index] = Process(process.index, self._spawn(process.index), process.deaths + 1)

    def _limit(self, process: Process) -> float:
        return START_DEADLINE if process.fresh else self.deadline

    def _left(self, busy: Sequence[Process], method: str) -> float:
        """Seconds until the first of these is overdue."""
        return max(0.0, min(p.since + self._limit(p) for p in busy) - time.monotonic())

    def _require_answers(self, busy: Sequence[Process], method: str) -> None:
        """RunError RL604 for a process that has been busy for too long."""
        now = time.monotonic()
        for process in busy:
            if now - process.since >= self._limit(process):
                raise stalled(process.name, now - process.since, f"it was asked ({method})")


def spawner(spec: SeatSpec, reserved: Reserved) -> Callable[[int], Any]:
    """What starts the process of a place in its reserved bundle; it comes up while others do."""
    import ray

    packed, gpus, kind = pickle.dumps(spec), reserved.gpus(JUDGE), ray.remote(JudgeActor)
    env = {**guard.trainer_environment(gpus > 0), **({} if gpus else HIDDEN)}

    def spawn(place: int) -> Any:
        return kind.options(num_cpus=1, num_gpus=gpus, max_restarts=0, max_task_retries=0,
                            scheduling_strategy=reserved.strategy(JUDGE, place),
                            runtime_env={"env_vars": env}).remote(packed)

    return spawn
