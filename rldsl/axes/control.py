"""What a schedule hears and says, and the books that every schedule keeps; what a placement answers.

A schedule is a pure function on events: no clock, no I/O. The same object runs under the embedded executor, under a
live event loop and under `rldsl simulate`. Its state is JSON data and stands in every checkpoint. Prompts are trained
whole: a *group* is the responses to one prompt, numbered in the order of launch. The *pool* is the groups that were
launched and neither handed to the trainer nor dropped. Events, with the fields of `Event` that they use:

- `start`: the run begins; `prompts` in a batch, `siblings` in a group, the next `batch` to train, `batches` in all,
  `group` is the next number to be given out, `admit` the most groups in the pool (0: no bound), `versions` the sets of
  weights that the engines can serve at once
- `finished`: a response of `group` ended by itself or at its limit, after `tokens` tokens
- `retired`: a response of `group` was given up, having been cut too often
- `ready`: no response of `group` is open any more, and it can be trained
- `dropped`: `group` will never be trained: a filter or a failed score took it, or nobody is left in it
- `exhausted`: the bound on refilling this batch is reached; what is in the pool must do
- `paused`: nothing is being generated any more, and every group without open responses was reported
- `updated`: the batch that was handed over is trained, in `updates` optimizer steps
- `published`: the engines have the weights that were sent

Actions: `launch` the next `prompts` groups · `pause` generation, keeping what exists · `resume` what was paused ·
`train` the batch of `groups` · `export` the trainer's weights as they are, so that it may train while they are sent ·
`publish` what was exported, or the trainer's weights, with `reset` after which the optimizer begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from .choice import Choice

State = dict[str, Any]


class _Told:
    """A frozen record that is JSON data without its defaults."""

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})


@dataclass(frozen=True)
class Event(_Told):
    """What happened. The kinds are listed at the head of this module."""

    kind: str
    group: int = 0
    tokens: int = 0
    updates: int = 0
    batch: int = 0
    prompts: int = 0
    siblings: int = 0
    batches: int = 0
    admit: int = 0
    versions: int = 1


@dataclass(frozen=True)
class Action(_Told):
    """What to do. The kinds are listed at the head of this module."""

    kind: str
    prompts: int = 0
    batch: int = 0
    groups: tuple[int, ...] = ()
    reset: bool = False

    def __str__(self) -> str:
        """`launch 4`, `train 0: 0 1 2 3`, `publish`."""
        match self.kind:
            case "launch":
                return f"launch {self.prompts}"
            case "train":
                return f"train {self.batch}: {' '.join(map(str, self.groups))}".rstrip()
        return f"{self.kind} reset" if self.reset else self.kind


class Schedule(Choice):
    """When data is made and used. A schedule states `decide`; the books are kept here.

    Entries of the state: `prompts`, `siblings`, `batches`, `admit`, `versions` as in the start event; `batch`, the
    next to be handed over; `group`, the next number; `pool`, its size in groups; `open`, the responses that were
    launched and have not ended (in flight or paused); `ready`, the groups that can be trained, in the order they
    became so; `training`, `pushing`, `exhausted`; `exported`, whether exported weights are still to be published;
    `paused` ("no", "asked", "yes"); `behind` and `updates`, the batches and optimizer steps trained since the weights
    that were last exported or published.
    """

    axis = "system"

    def overlaps(self) -> bool:
        """Whether sampling goes on while the trainer trains."""
        return False

    def cuts(self) -> bool:
        """Whether responses may be stopped and taken up again under newer weights."""
        return False

    def in_use(self) -> int | None:
        """Sets of weights that are of use at once where no push stops anything: those that responses under way began
        with, and the newest. None is no bound. Where sampling and training take turns, a push finds nothing under way.
        """
        lag = self.lag() if self.overlaps() else 0
        return None if lag is None else lag + 1

    def stopping(self) -> frozenset[str]:
        """Parameters that say what becomes of responses that a push finds in flight."""
        return frozenset()

    def keeps_state(self) -> bool:
        """Whether what was stopped goes on from the engine's own state, not computed anew from its tokens."""
        return False

    def whole(self) -> bool:
        """Whether every batch has `data.prompts` prompts."""
        return True

    def lag(self) -> int | None:
        """Most batches by which data can be older than the trainer; None is no bound."""
        return 0

    def least_lag(self) -> int:
        """Versions by which all data, after the first batch, is older than the trainer at least."""
        return 0

    def initial(self) -> State:
        """Entries of its own, before the first event; JSON values only."""
        return {}

    def step(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        """The new state and what to do now. `state` is left as it is."""
        known = {**self.initial(), **begun(event)} if event.kind == "start" else noted(state, event)
        known, actions = self.decide(known, event)
        return after(known, actions), tuple(actions)

    def decide(self, state: State, event: Event) -> tuple[State, Iterable[Action]]:
        """What to do, where `event` is noted in `state` already; the state with entries of its own renewed."""
        raise TypeError(f"{self.name} schedules nothing")


# ── books ────────────────────────────────────────────────────────────────────────────────────────────

def begun(event: Event) -> State:
    """The books before anything was launched."""
    return {"prompts": event.prompts, "siblings": event.siblings, "batches": event.batches, "admit": event.admit,
            "versions": event.versions, "batch": event.batch, "group": event.group, "pool": 0, "open": 0, "ready": [],
            "training": False, "pushing": False, "exported": False, "exhausted": False, "paused": "no", "behind": 0,
            "updates": 0}


def noted(state: State, event: Event) -> State:
    """The books after an event."""
    match event.kind:
        case "finished" | "retired":
            return {**state, "open": state["open"] - 1}
        case "ready":
            return {**state, "ready": [*state["ready"], event.group]}
        case "dropped":
            return {**state, "pool": state["pool"] - 1}
        case "exhausted":
            return {**state, "exhausted": True}
        case "paused":
            return {**state, "paused": "yes"}
        case "updated":
            return {**state, "training": False, "behind": state["behind"] + 1,
                    "updates": state["updates"] + event.updates}
        case "published":
            since = {} if state["exported"] else {"behind": 0, "updates": 0}
            return {**state, "pushing": False, "exported": False, **since}
    raise ValueError(f"there is no event `{event.kind}`")


def performed(state: State, action: Action) -> State:
    """The books once an action is under way."""
    match action.kind:
        case "launch":
            return {**state, "pool": state["pool"] + action.prompts, "group": state["group"] + action.prompts,
                    "open": state["open"] + action.prompts * state["siblings"]}
        case "pause":
            return {**state, "paused": "asked"}
        case "resume":
            return {**state, "paused": "no"}
        case "train":
            gone = set(action.groups)
            return {**state, "training": True, "batch": state["batch"] + 1, "pool": state["pool"] - len(gone),
                    "ready": [g for g in state["ready"] if g not in gone], "exhausted": False}
        case "export":
            return {**state, "exported": True, "behind": 0, "updates": 0}
        case "publish":
            return {**state, "pushing": True}
    raise ValueError(f"there is no action `{action.kind}`")


def after(state: State, actions: Iterable[Action]) -> State:
    """The books once all of these are under way."""
    for action in actions:
        state = performed(state, action)
    return state


# ── decisions that several schedules share ───────────────────────────────────────────────────────────

def busy(state: State) -> bool:
    """Whether the trainer trains or sends its weights."""
    return state["training"] or state["pushing"]


def settled(state: State) -> bool:
    """Whether every group in the pool can be trained."""
    return state["pool"] == len(state["ready"])


def gathered(state: State) -> bool:
    """Whether a batch is complete, or as complete as it will be."""
    return len(state["ready"]) >= state["prompts"] or (state["exhausted"] and settled(state))


def train(state: State, groups: Iterable[int]) -> Action:
    """Hands over the next batch."""
    return Action("train", batch=state["batch"], groups=tuple(groups))


def room(state: State) -> int:
    """Groups that may join the pool: what admission allows and what is still to be trained. Admission bounds their age
    too, so that none begins with the weights before, once others are on their way."""
    if state["exhausted"] or (state["admit"] and state["exported"]):
        return 0
    bounds = [(state["batches"] - state["batch"]) * state["prompts"]]
    if state["admit"]:
        bounds.append(state["admit"])
    return max(0, min(bounds) - state["pool"])


def fill(state: State, target: int) -> tuple[Action, ...]:
    """Launches what the pool lacks of `target` groups, as far as there is room."""
    lacking = min(target - state["pool"], room(state))
    return (Action("launch", prompts=lacking),) if lacking > 0 else ()


def keep_open(state: State, responses: int) -> tuple[Action, ...]:
    """Launches as many groups as fit beside the open responses into `responses`, as far as there is room; one at least
    where nothing is open."""
    places = max((responses - state["open"]) // state["siblings"], int(state["open"] == 0))
    lacking = min(places, room(state))
    return (Action("launch", prompts=lacking),) if lacking > 0 else ()


def push(state: State, interrupt: str, *, reset: bool = False) -> tuple[Action, ...]:
    """What brings the weights to the engines from here: at once where older versions go on being served, else once
    what is in flight has ended (`interrupt` "finish") or was paused ("abort")."""
    at_once = state["versions"] > 1 or (interrupt == "finish" and state["open"] == 0) or state["paused"] == "yes"
    if at_once:
        return (Action("publish", reset=reset),)
    return (Action("pause"),) if interrupt == "abort" and state["paused"] == "no" else ()


def export(state: State) -> tuple[Action, ...]:
    """Keeps the weights that are to be sent, unless others are under way; the trainer may then go on, before `send`."""
    return () if state["training"] or state["exported"] else (Action("export"),)


def send(state: State, interrupt: str, *, reset: bool = False) -> tuple[Action, ...]:
    """As `push`, of what was exported."""
    return push(state, interrupt, reset=reset) if state["exported"] and not state["pushing"] else ()


def go_on(state: State) -> tuple[Action, ...]:
    """Takes up what is paused."""
    return (Action("resume"),) if state["paused"] == "yes" else ()


# ── placements ───────────────────────────────────────────────────────────────────────────────────────

class Placement(Choice):
    """Where sampling and training run. `sized_by` is {role: parameter} where the roles "rollout" and "train" have
    devices of their own: what says how many."""

    axis = "system"
    sized_by = {}

    def shared(self) -> bool:
        """Whether one device pool does both, in turn."""
        raise TypeError(f"{self.name} places nothing")

    def pools(self) -> dict[str, int]:
        """{role: devices} where the roles "rollout" and "train" have their own."""
        return {role: getattr(self, parameter) for role, parameter in self.sized_by.items()}

    def lends(self) -> bool:
        """Whether the trainer's devices sample too while there is nothing to train."""
        return False

    def samples(self, training: bool) -> float:
        """The share of all devices that sample while the trainer trains, or while it does not."""
        pools = self.pools()
        return float(not training) if self.shared() else pools["rollout"] / sum(pools.values())

    def trains(self) -> float:
        """The share of all devices that train when the trainer does."""
        pools = self.pools()
        return 1.0 if self.shared() else pools["train"] / sum(pools.values())

    def serves(self) -> int:
        """Sets of weights that the engines can serve at once."""
        return 1
