"""A process that samples: an engine in a thread of its own, and methods that only pass things to it and from it.

Only the thread touches the engine. Between two steps it does what was asked meanwhile, in the order of asking; its
first error ends it and is told to whoever asks next.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from rldsl.backends.cluster import guard
from rldsl.backends.cluster.weights import Manifest
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Trajectory
from rldsl.runtime.usage import resident

from .streams import EngineSpec, Report, Stream

Command = tuple[Callable[[Any], Any], Future]


class RolloutActor:
    """Wrapped by Ray with several threads, so that a waiting `poll` holds nothing up.

    `spec` is a pickled EngineSpec: what is in it may need transformers, which `guard` has to see first.
    """

    def __init__(self, spec: bytes):
        guard.prepare()
        self._commands: SimpleQueue[Command] = SimpleQueue()
        self._finished: list[tuple[int, Trajectory]] = []
        self._progress = 0
        self._failure: Diagnostic | None = None
        self._news = threading.Condition()
        threading.Thread(target=self._work, args=(pickle.loads(spec),), daemon=True).start()
        self._ask(lambda engine: None).result()

    def start(self, streams: Sequence[Stream]) -> None:
        """Takes streams in; returns when the engine has them."""
        def add(engine: Any) -> None:
            for stream in streams:
                engine.add(stream)

        self._ask(add).result()

    def poll(self, seconds: float) -> Report:
        """What finished since the last poll; waits for something to tell, `seconds` at most."""
        with self._news:
            if not self._finished and self._failure is None:
                self._news.wait(seconds)
            found, self._finished = tuple(self._finished), []
            return Report(found, self._progress, self._failure)

    def pause(self, only: Collection[int] | None = None) -> tuple[Report, list[Stream]]:
        """Stops every stream, or only these: what has finished since the last poll, and what was stopped with what it
        has so far."""
        stopped = self._ask(lambda engine: engine.pause(only)).result()
        with self._news:
            self._news.notify_all()  # a poll that waits has nothing to wait for any more
        return self.poll(0.0), stopped

    def load(self, version: int, manifest: Manifest, flat: np.ndarray, before: str | None) -> str | None:
        """The fingerprint of what now samples; None where it is not what was sent. `before` is the answer to the load
        before this one: calls that wait for the process to come up are made in any order, those for an answer are not.
        """
        return self._ask(lambda engine: engine.load(version, manifest, flat)).result()

    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def resident(self) -> float:
        """Bytes of memory that this process holds."""
        return resident()

    def _ask(self, command: Callable[[Any], Any]) -> Future:
        """Has the engine's thread call `command` with the engine. RunError where the engine has ended."""
        answer: Future = Future()
        self._commands.put((command, answer))
        if self._failure is not None:
            self._refuse()
        return answer

    def _work(self, spec: EngineSpec) -> None:
        try:
            from .engine import VllmEngine

            engine = VllmEngine(spec)
            while True:
                self._obey(engine)
                found = engine.step()
                with self._news:
                    self._finished += found
                    self._progress = engine.steps
                    if found:
                        self._news.notify_all()
        except Exception as error:  # whatever ends the engine is told to the run, which ends with it
            with self._news:
                self._failure = _told(error)
                self._news.notify_all()
            self._refuse()

    def _obey(self, engine: Any) -> None:
        """Does what was asked; waits for it where there is nothing to sample."""
        while True:
            try:
                command, answer = self._commands.get(block=not engine.busy)
            except Empty:
                return
            try:
                answer.set_result(command(engine))
            except Exception as error:
                answer.set_exception(RunError(_told(error)))
                raise

    def _refuse(self) -> None:
        """Answers everyone who still waits for an engine that has ended."""
        while True:
            try:
                _, answer = self._commands.get(block=False)
            except Empty:
                return
            answer.set_exception(RunError(self._failure))


def _told(error: Exception) -> Diagnostic:
    """What ended the engine, in its own words where it has them."""
    if isinstance(error, RunError):
        return error.diagnostic
    if isinstance(error, RecipeError):
        return error.diagnostics[0]
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Diagnostic("RL605", f"a rollout engine ended: {type(error).__name__}: {error}",
                      why=f"raised in {last.name} ({os.path.basename(last.filename)}:{last.lineno})",
                      fix="the run resumes from its newest checkpoint once the cause is removed")
