"""Sample for ever, train on whatever has arrived: a schedule without a bound on the age of its data."""

from __future__ import annotations

from typing import Any

from rldsl.axes.base import Action, Event, Schedule


class FreeRunning(Schedule):
    def overlaps(self) -> bool:
        return True

    def lag(self) -> None:
        return None

    def step(self, state: dict[str, Any], event: Event) -> tuple[dict[str, Any], tuple[Action, ...]]:
        kind = {"start": "sample", "sampled": "train", "updated": "publish", "published": "sample"}[event.kind]
        return state, (Action(kind, event.batch + (event.kind == "published")),)
