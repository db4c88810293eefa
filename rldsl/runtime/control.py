"""What a recipe asks of the control plane, and the loop that asks the schedule what to do and does it.

The loop decides nothing itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rldsl.axes.control import Action, Event, Schedule, State
from rldsl.compiler.facts import updates
from rldsl.compiler.recipe import Recipe

Perform = Callable[[Action], Iterable[Event]]


@dataclass(frozen=True)
class Terms:
    """The numbers that a schedule works with: `prompts` in a batch, `siblings` in a group, `batches` in the run, the
    most groups in the pool (`admit`), the cuts that a response `survives`, the column of a row's source with the most
    responses of one source `at_once`, and the weights that are served at once (`versions`). None is no bound. `updates`
    are the optimizer steps that a whole batch gives, which a run counts and a simulation has to assume."""

    prompts: int
    siblings: int
    batches: int
    admit: int | None = None
    survives: int | None = None
    at_once: tuple[str, int] | None = None
    versions: int = 1
    updates: int = 1

    def start(self, batch: int = 0, group: int = 0) -> Event:
        """The event with which a run begins, or goes on with an empty pool, at a batch and a group."""
        return Event("start", batch=batch, group=group, prompts=self.prompts, siblings=self.siblings,
                     batches=self.batches, admit=self.admit or 0, versions=self.versions)


def terms(recipe: Recipe) -> Terms:
    """The terms of a recipe whose `data.prompts` and `budget.steps` are set; of several bounds the tightest holds."""
    prompts = recipe.settings.data.prompts
    admitted = [n for node in recipe.distribution if (n := node.choice.admits()) is not None]
    survived = [n for node in recipe.distribution if (n := node.choice.survives()) is not None]
    sources = [at for node in recipe.sampling[1:] if (at := node.choice.at_once()) is not None]
    return Terms(prompts, recipe.sampling[0].choice.siblings(), recipe.settings.budget.steps,
                 admit=min(admitted) * prompts if admitted else None, survives=min(survived, default=None),
                 at_once=min(sources, key=lambda s: s[1], default=None), versions=recipe.placement.choice.serves(),
                 updates=updates(recipe))


def follow(schedule: Schedule, start: Event, perform: Mapping[str, Perform],
           remember: Callable[[State], None]) -> None:
    """Does what the schedule orders, one thing after another, until nothing more happens.

    `perform` maps an action's kind to what does it and tells what then happened; `remember` gets every new state
    before the actions that follow from it are done.
    """
    state, events = {}, deque([start])
    while events:
        state, actions = schedule.step(state, events.popleft())
        remember(state)
        for action in actions:
            events.extend(perform[action.kind](action))


def replay(schedule: Schedule, records: Iterable[Mapping[str, Any]]) -> Iterable[tuple[int, str]]:
    """(number of the record, what differs) for every decision of a run's journal that the schedule now takes
    otherwise. Records as `control` events hold them: `event` and `actions`, or the `state` that a resume began with."""
    state: State = {}
    for number, record in enumerate(records):
        if "state" in record:
            state = record["state"]
            continue
        state, actions = schedule.step(state, Event.from_json(record["event"]))
        found, recorded = [a.to_json() for a in actions], list(record["actions"])
        if found != recorded:
            yield number, f"{_said(recorded)} was decided, now {_said(found)}"


def _said(actions: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(str(Action.from_json(a)) for a in actions) or "nothing"
