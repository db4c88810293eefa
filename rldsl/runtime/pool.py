"""What an event loop has begun and not yet trained: prompts with their open responses and those that have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rldsl.axes.control import Action, Event, State

from .batch import Batch
from .checkpoint import understood
from .ledger import Draw
from .prompts import Prompts
from .trajectory import Prefix, Request, Trajectory
from .work import Work


@dataclass
class Group:
    """One prompt. `request` asks for all its responses; `batch` goes into their draws. `open` has, by sibling, what
    is in flight, waits or is paused, as the request that it began with or goes on from; `cuts` counts how often each
    was stopped. `work` is there once it is scored; `told` says whether the schedule has heard so."""

    request: Request
    draw: Draw
    batch: int
    open: dict[int, Request]
    done: list[Trajectory] = field(default_factory=list)
    cuts: dict[int, int] = field(default_factory=dict)
    started: bool = False
    work: Work | None = None
    told: bool = False

    @property
    def number(self) -> int:
        """Its number, as schedules know it."""
        return self.request.group

    def wanted(self) -> Iterator[Request]:
        """What to ask for: one request where nothing has begun, else one for each open response."""
        if not self.done and not self.cuts and len(self.open) == self.request.siblings:
            yield self.request
        else:
            yield from self.open.values()


def fresh(request: Request, draw: Draw, batch: int) -> Group:
    """A prompt of which nothing was sampled yet."""
    return Group(request, draw, batch, {s: replace(request, siblings=1, first=s) for s in range(request.siblings)})


def to_json(group: Group) -> dict[str, Any]:
    """As JSON data, without what can be computed again: the prompt and the scores."""
    done = [{k: v for k, v in asdict(t).items() if k not in ("group", "row", "prompt")} for t in group.done]
    return {"group": group.number, "draw": list(group.draw), "batch": group.batch, "siblings": group.request.siblings,
            "open": {str(s): asdict(r.prefix) for s, r in group.open.items()}, "done": done,
            "cuts": {str(s): n for s, n in group.cuts.items()}, "started": group.started, "told": group.told}


def from_json(data: Mapping[str, Any], prompts: Prompts) -> Group:
    """The inverse of `to_json`."""
    draw = Draw(*data["draw"])
    request = Request(data["group"], draw.row, prompts.tokens(draw.row), data["siblings"])
    of = {"group": data["group"], "row": draw.row, "prompt": request.prompt}
    done = [Trajectory(**of, **_tuples(t)) for t in data["done"]]
    going = {int(s): replace(request, siblings=1, first=int(s), prefix=Prefix(**_tuples(p)))
             for s, p in data["open"].items()}
    return Group(request, draw, data["batch"], going, done, {int(s): n for s, n in data["cuts"].items()},
                 data["started"], told=data["told"])


def gone_to_json(part: Work) -> dict[str, Any]:
    """What is still to be told of prompts that left: draws, fates and counts."""
    return {"draws": {str(g): list(d) for g, d in part.draws.items()}, "counts": dict(part.counts),
            "fates": {str(g): fate for g, fate in part.fates.items()}}


def gone_from_json(data: Mapping[str, Any], empty: Batch) -> Work:
    """The inverse of `gone_to_json`, with a table of no responses."""
    return Work(0, table=empty, draws={int(g): Draw(*d) for g, d in data["draws"].items()},
                fates={int(g): fate for g, fate in data["fates"].items()}, counts=Counter(data["counts"]))


@dataclass(frozen=True)
class Kept:
    """What a checkpoint holds of an event loop: prompts by number, prompts that left, what was still to be decided on
    and done, and how the loop and its schedule stood; `exported` says whether weights were on their way."""

    groups: dict[int, Group]
    gone: list[Work]
    events: list[Event]
    pending: list[Action]
    paused: bool
    pausing: bool
    dropped: int
    state: State
    exported: bool


def kept_from_json(data: Mapping[str, Any], prompts: Prompts, empty: Batch) -> Kept:
    """That from its data, with a table of no responses. RunError RL609 where another version wrote it."""
    with understood():
        groups = {g["group"]: from_json(g, prompts) for g in data["groups"]}
        gone = [gone_from_json(g, empty) for g in data["gone"]]
        events, pending = [Event.from_json(e) for e in data["events"]], [Action.from_json(a) for a in data["pending"]]
        state = data["state"]
        return Kept(groups, gone, events, pending, data["paused"], data["pausing"], data["dropped"], state,
                    state["exported"])


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
