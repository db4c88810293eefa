"""A streaming engine without a model or a thread: every poll writes one more letter of every response in flight.

A poll always sleeps: the scorer's and the trainer's threads must get on while letters are written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions, Trajectory

Answer = Callable[[Request, int], str]


@dataclass
class FakeStream:
    """`answer` gives a response's text, as for FakeEngine. What it was asked and told is remembered."""

    answer: Answer
    version: int = -1
    serves: int = 1
    keeps: bool = False
    moved: float = 0.0
    flight: list[Request] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    sent: list[object] = field(default_factory=list)
    most: int = 0
    pauses: int = 0
    begun: list[tuple[int, int]] = field(default_factory=list)
    held: dict[tuple[int, int], int | None] = field(default_factory=dict)
    crowded: int = 0
    way: int = 0
    replaces: bool = False

    def start(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int) -> None:
        singles = [replace(r, siblings=1, first=r.first + s) for r in requests for s in range(r.siblings)]
        self.begun += [(r.group, r.first) for r in singles if not r.prefix.tokens and batch >= 0]
        self.flight += singles
        self.held |= {(r.group, r.first): None if self.replaces else self.version for r in singles}
        self.most = max(self.most, len(self.flight)) if batch >= 0 else self.most
        self.crowded = max(self.crowded, len(self.used))

    @property
    def used(self) -> set[int]:
        """Versions that responses in flight are to be ended by."""
        return {self.held[r.group, r.first] for r in self.flight} - {None}

    @property
    def free(self) -> bool:
        return len(self.used) < self.serves

    @property
    def arrived(self) -> bool:
        """Weights take three looks to arrive."""
        self.way -= 1
        return self.way <= 0

    def send(self, version: int, weights: object) -> None:
        assert self.free, "weights were sent and no set has room for them"
        self.way, self.replaces = 3, self.version not in self.used and len(self.used) == self.serves - 1

    def sample(self, requests: Sequence[Request], options: SamplingOptions, *, batch: int,
               greedy: bool = False) -> list[Trajectory]:
        found = []
        for r in requests:
            for sibling in range(r.siblings):
                text = self.answer(r, sibling)
                n = len(text)
                found.append(Trajectory(r.group, sibling, r.row, r.prompt, tuple(map(ord, text)), (-1.0,) * n,
                                        (self.version,) * n, "stop", text))
        return found

    def poll(self, timeout: float) -> list[Trajectory]:
        time.sleep(min(timeout, 0.0002 if self.flight else 0.001))
        ended, going = [], []
        for r in self.flight:
            if self.held[r.group, r.first] is None:  # no set has room for it
                going.append(r)
                continue
            text, p = self.answer(r, r.first), r.prefix
            at = len(p.tokens)
            p = Prefix((*p.tokens, ord(text[at])), (*p.logps, -1.0), (*p.versions, self._version(r)))
            if len(p.tokens) == len(text):
                ended.append(Trajectory(r.group, r.first, r.row, r.prompt, p.tokens, p.logps, p.versions, "stop", text))
            else:
                going.append(replace(r, prefix=p))
        self.moved = time.monotonic() if self.flight else self.moved
        self.flight = going
        return ended

    def _version(self, r: Request) -> int:
        return self.version if self.serves == 1 else self.held[r.group, r.first]

    def pause(self) -> list[Request]:
        self.pauses += 1
        found, self.flight = self.flight, []
        return found

    def load(self, version: int, weights: object) -> str:
        assert self.free, "weights changed under responses in flight"
        self.version, self.replaces = version, False
        self.held = {key: version if held is None else held for key, held in self.held.items()}
        self.loads.append(version)
        self.sent.append(weights)
        return str(weights)
