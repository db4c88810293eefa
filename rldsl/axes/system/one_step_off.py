"""Sample the next batch while this one trains: data is at most one batch old.

Differs from `sync`: sampling and training overlap, so it needs two pools of devices and a correction for the lag.
Source: asynchronous RLHF, Noukhovitch et al. (arXiv:2410.18252), section 3.
"""

from __future__ import annotations

from typing import Any

from rldsl.axes.base import Action, Event, Schedule
from rldsl.axes.choice import Example


class OneStepOff(Schedule):
    def overlaps(self) -> bool:
        return True

    def lag(self) -> int:
        return 1

    def least_lag(self) -> int:
        return 1

    def initial(self) -> dict[str, Any]:
        return {"ready": -1, "published": -1, "started": -1}

    def step(self, state: dict[str, Any], event: Event) -> tuple[dict[str, Any], tuple[Action, ...]]:
        match event.kind:
            case "start":
                state = {"ready": event.batch - 1, "published": event.batch - 1, "started": event.batch - 1}
                return state, (Action("sample", event.batch),)
            case "updated":
                return state, (Action("publish", event.batch),)
            case "sampled":
                state = {**state, "ready": event.batch}
            case "published":
                state = {**state, "published": event.batch}
        following = state["started"] + 1
        if state["ready"] >= following and state["published"] >= following - 1:
            state = {**state, "started": following}
            return state, (Action("train", following), Action("sample", following + 1))
        return state, ()


EXAMPLES = [Example("batch 1 is sampled while batch 0 trains", {},
                    [{"kind": "start"}, {"kind": "sampled", "batch": 0}, {"kind": "sampled", "batch": 1},
                     {"kind": "updated", "batch": 0}, {"kind": "published", "batch": 0}],
                    {"actions": [["sample 0"], ["train 0", "sample 1"], [], ["publish 0"], ["train 1", "sample 2"]]})]
