"""Sample for ever, train on whatever has arrived: a schedule without a bound on the age of its data."""

from __future__ import annotations

from rldsl.axes.control import Action, Event, Schedule, State, busy, fill, performed, train


class FreeRunning(Schedule):
    def overlaps(self) -> bool:
        return True

    def lag(self) -> None:
        return None

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        if event.kind == "updated":
            return state, (Action("publish"),)
        handed = (train(state, state["ready"]),) if state["ready"] and not busy(state) else ()
        after = performed(state, handed[0]) if handed else state
        return state, (*handed, *fill(after, after["prompts"]))
