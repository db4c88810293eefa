"""Streams that are stopped inside an engine and keep what it has computed of them: their keys and values stay where
they are, whatever weights are loaded meanwhile, and they go on from there.

vLLM steps what its scheduler counts as running. A kept stream is taken out of that list, so that others may be sampled
(a held-out score, say) while it stands still, and put back when it is taken up again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .streams import Stream


@dataclass(frozen=True)
class _Kept:
    """`name` is what the engine's answers call the stream, `request` what its scheduler knows of it."""

    name: int
    live: Any
    request: Any


class KeptStreams:
    """`abort` ends requests of the engine by name, and frees what it has computed of them."""

    def __init__(self, scheduler: Any, abort: Callable[[Sequence[int]], None]):
        self._scheduler, self._abort = scheduler, abort
        self._held: dict[tuple[int, int, int], _Kept] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, live: Mapping[int, Any]) -> set[int]:
        """Stops those of the streams {name: stream under way} that the engine has begun; their names."""
        running = {request.request_id: request for request in self._scheduler.running}
        kept = {name: each for name, each in live.items() if each.inside in running}
        self._held |= {each.stream.place: _Kept(name, each, running[each.inside]) for name, each in kept.items()}
        gone = {each.inside for each in kept.values()}
        self._scheduler.running = [r for r in self._scheduler.running if r.request_id not in gone]
        return set(kept)

    def take_up(self, stream: Stream) -> tuple[int, Any] | None:
        """Has the engine go on with what it holds of a stream: (its name, the stream that was under way). None where it
        holds nothing of it, or not what the stream has so far, or steps as many as it can already."""
        found = self._held.pop(stream.place, None)
        if found is None:
            return None
        room = len(self._scheduler.running) < self._scheduler.max_num_running_reqs
        if not room or found.live.whole().tokens != stream.request.prefix.tokens:
            self._abort([found.name])
            return None
        self._scheduler.running.append(found.request)
        return found.name, found.live

    def give_up(self, number: int | None = None) -> None:
        """Frees so many held streams, or all: they will have to be computed again."""
        for _ in range(len(self._held) if number is None else min(number, len(self._held))):
            self._abort([self._held.popitem()[1].name])
