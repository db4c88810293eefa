"""The loop that asks the schedule what to do and does it. It decides nothing itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from rldsl.axes.base import Event, Schedule

Perform = Callable[[int], Event]


def follow(schedule: Schedule, state: dict[str, Any], first: int, last: int, perform: Mapping[str, Perform],
           remember: Callable[[dict[str, Any]], None]) -> None:
    """Runs batches `first` to `last` (exclusive) as the schedule orders.

    `perform` maps an action's kind to what does it, for a batch, and says what then happened; `remember` gets every
    new state before the actions that follow from it are done.
    """
    state, actions = schedule.step(state, Event("start", batch=first))
    remember(state)
    waiting = deque(actions)
    while waiting:
        action = waiting.popleft()
        if action.batch >= last:
            continue
        state, more = schedule.step(state, perform[action.kind](action.batch))
        remember(state)
        waiting.extend(more)
