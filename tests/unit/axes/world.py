"""Everything that a schedule may meet: a world in which what is under way ends in any order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from rldsl.axes.control import Action, Event, Schedule, State

Choose = Callable[[int], int]
"""A number below the given one."""


@dataclass
class World:
    """What a schedule's actions set going. `survives` and `filtered` (one group in so many, 0: none) are settings."""

    schedule: Schedule
    start: Event
    survives: int | None = None
    filtered: int = 0
    state: State = field(default_factory=dict)
    flight: dict[tuple[int, int], int] = field(default_factory=dict)
    begun: dict[int, list[int]] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    fates: Counter[int] = field(default_factory=Counter)
    cuts: Counter[tuple[int, int]] = field(default_factory=Counter)
    oldest: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    pausing: bool = False
    paused: bool = False
    training: tuple[int, ...] | None = None
    pushing: bool = False
    version: int = 0
    exported: int | None = None
    trained: int = 0
    launched: int = 0
    most: int = 0
    sets: int = 1

    def tell(self, event: Event) -> None:
        """Lets the schedule decide, also from a state that went through JSON, and does what it says."""
        before = json.dumps(self.state, sort_keys=True)
        state, actions = self.schedule.step(self.state, event)
        assert json.dumps(self.state, sort_keys=True) == before, "a schedule changed the state that it was given"
        assert (state, actions) == self.schedule.step(json.loads(before), Event.from_json(event.to_json()))
        assert json.loads(json.dumps(state)) == state
        self.state = state
        for action in actions:
            assert Action.from_json(json.loads(json.dumps(action.to_json()))) == action
            self.perform(action)

    def perform(self, action: Action) -> None:
        match action.kind:
            case "launch":
                assert action.prompts > 0 and not self.paused
                for group in range(self.launched, self.launched + action.prompts):
                    self.begun[group] = [self.start.siblings, self.version]
                    self.flight |= {(group, s): self.version for s in range(self.start.siblings)}
                self.launched += action.prompts
                pool = self.launched - self.fates.total() - len(self.training or ())
                self.most = max(self.most, pool)
            case "pause":
                assert not self.paused and not self.pausing
                self.pausing = True
            case "resume":
                assert self.paused
                self.paused = False
            case "train":
                assert self.training is None and action.batch == self.trained
                assert self.exported is not None or not self.pushing
                assert not any(self.fates[g] for g in action.groups)
                assert all(not self.begun[g][0] and g not in self.waiting for g in action.groups)
                self.training = action.groups
                self.sizes.append(len(action.groups))
                self.oldest += [self.trained - self.begun[g][1] for g in action.groups]
            case "export":
                assert self.training is None and self.exported is None and not self.pushing
                self.exported = self.trained
            case "publish":
                assert not self.pushing and (self.training is None or self.exported is not None)
                assert not (action.reset and self.training is not None)
                self.pushing = True

    def moves(self) -> list[Callable[[], None]]:
        """What may happen next."""
        found: list[Callable[[], None]] = []
        if not self.paused:
            found += [lambda r=r: self._ends(*r) for r in self.flight]
        found += [lambda g=g: self._reported(g) for g in self.waiting]
        if self.pausing and not self.waiting:
            found.append(self._paused)
        if self.training is not None:
            found.append(self._updated)
        if self.pushing and (self.start.versions == 1 or len(set(self.flight.values())) < self.start.versions):
            found.append(self._published)
        return found

    def _ends(self, group: int, sibling: int, kind: str = "finished") -> None:
        del self.flight[group, sibling]
        self.begun[group][0] -= 1
        if not self.begun[group][0]:
            self.waiting.append(group)
        self.tell(Event(kind, group=group, tokens=1 + (7 * group + sibling) % 5))

    def _reported(self, group: int) -> None:
        self.waiting.remove(group)
        gone = bool(self.filtered) and group % self.filtered == self.filtered - 1
        if gone:
            self.fates[group] += 1
        self.tell(Event("dropped" if gone else "ready", group=group))

    def _paused(self) -> None:
        for response in list(self.flight):
            self.cuts[response] += 1
            if self.survives is not None and self.cuts[response] > self.survives:
                self._ends(*response, kind="retired")
                while self.waiting:
                    self._reported(self.waiting[0])
        self.pausing, self.paused = False, True
        self.tell(Event("paused"))

    def _updated(self) -> None:
        self.fates.update(self.training)
        self.training, self.trained = None, self.trained + 1
        self.tell(Event("updated", updates=1))

    def _published(self) -> None:
        self.pushing, self.version = False, self.trained if self.exported is None else self.exported
        self.exported = None
        self.sets = max(self.sets, len({*self.flight.values(), self.version}))
        self.tell(Event("published"))

    def run(self, choose: Choose) -> None:
        """Until every batch is trained; what happens next is chosen among everything that may."""
        self.tell(self.start)
        while self.trained < self.start.batches:
            moves = self.moves()
            assert moves, f"nothing can happen any more: {self.state}"
            moves[choose(len(moves))]()
