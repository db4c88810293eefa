"""Sampling request by request in a thread: a policy of its own answers what is in flight, some tokens at a time.

What was sampled so far is computed again for every piece, so this engine is for small models: it shows what an engine
with a scheduler of its own does to a run, on any machine.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from torch import Tensor

from rldsl.backends.local.decoder.model import Policy, fingerprint
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions, Trajectory

from .sampler import require_context, sample


@dataclass(frozen=True)
class _Asked:
    """One open response: what it goes on from, and how."""

    request: Request
    options: SamplingOptions
    batch: int


class LocalStream:
    """Implements `rldsl.runtime.protocols` StreamingRollout; use as a context manager.

    `policy` may be the trainer's own where training waits for a pause; loading its weights then changes nothing.
    `piece` tokens are sampled of everything in flight before anything else is looked at, and what ended is polled
    before the next piece: a schedule decides when it happens, however busy the machine is. An exception of the sampler
    is raised by the next `poll`.
    """

    keeps = False
    serves = 1

    def __init__(self, policy: Policy, seed: int, piece: int = 8):
        self.policy, self.seed, self.piece, self.version = policy, seed, piece, 0
        self.moved = time.monotonic()
        self._flight: list[_Asked] = []
        self._ended: list[Trajectory] = []
        self._failed: BaseException | None = None
        self._closed, self._held = False, 0
        self._changed = threading.Condition()
        self._sampling = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="sample", daemon=True)
        self._thread.start()

    def start(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int) -> None:
        """See StreamingRollout. RecipeError RL330 where prompt and response would not fit the context."""
        require_context(self.policy, requests, options)
        asked = [_Asked(replace(r, siblings=1, first=r.first + s), options, batch)
                 for r in requests for s in range(r.siblings)]
        with self._changed:
            self._flight += asked
            self._changed.notify_all()

    def poll(self, timeout: float) -> list[Trajectory]:
        """See StreamingRollout."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._failed, timeout)
            if self._failed:
                raise self._failed
            found, self._ended = self._ended, []
            self._changed.notify_all()
            return found

    def pause(self) -> list[Request]:
        """See StreamingRollout."""
        with self._between_pieces(), self._changed:
            found, self._flight = [a.request for a in self._flight], []
            return found

    def load(self, version: int, weights: dict[str, Tensor]) -> str:
        """See StreamingRollout."""
        with self._between_pieces():
            self.policy.load_state_dict(weights)
            self.version = version
            return fingerprint(self.policy)

    @contextmanager
    def _between_pieces(self) -> Iterator[None]:
        """The thread samples nothing meanwhile; it would otherwise take the lock again before anyone else does."""
        with self._changed:
            self._held += 1
        try:
            with self._sampling:
                yield
        finally:
            with self._changed:
                self._held -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def __enter__(self) -> LocalStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or (self._flight and not self._held and not self._ended))
                if self._closed:
                    return
            with self._sampling:
                try:
                    self._sample_piece()
                except BaseException as error:
                    with self._changed:
                        self._failed = error
                        self._changed.notify_all()
                    return

    def _sample_piece(self) -> None:
        """The next tokens of everything in flight: one call for all that have the same options and length so far."""
        with self._changed:
            flight = list(self._flight)
        alike: dict[tuple[SamplingOptions, int, int], list[_Asked]] = defaultdict(list)
        for asked in flight:
            alike[asked.options, asked.batch, len(asked.request.prefix.tokens)].append(asked)
        going, ended = [], []
        for (options, batch, begun), part in alike.items():
            limit = min(options.max_tokens, begun + self.piece)
            found = sample(self.policy, [a.request for a in part], replace(options, max_tokens=limit), seed=self.seed,
                           batch=batch, version=self.version)
            for asked, t in zip(part, found, strict=True):
                if t.finish == "stop" or limit == options.max_tokens:
                    ended.append(t)
                else:
                    prefix = Prefix(t.tokens, t.logps, t.versions, t.candidates)
                    going.append(replace(asked, request=replace(asked.request, prefix=prefix)))
        with self._changed:
            self._flight = going + self._flight[len(flight):]
            self._ended += ended
            self.moved = time.monotonic()
            self._changed.notify_all()
