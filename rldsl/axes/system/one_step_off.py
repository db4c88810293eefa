"""Sample the next batch while this one trains: data is at most one batch old.

The next batch is launched when this one is handed to the trainer. The weights are sent once both have ended, so that
one version made each response.
Differs from `sync`: sampling and training overlap, so it needs two pools of devices and a correction for the lag.
Source: asynchronous RLHF, Noukhovitch et al. (arXiv:2410.18252), section 3.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, busy, fill, gathered, performed, push, train


class OneStepOff(Schedule):
    def overlaps(self) -> bool:
        return True

    def lag(self) -> int:
        return 1

    def least_lag(self) -> int:
        return 1

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        if busy(state):
            return state, fill(state, state["prompts"])
        if state["behind"]:
            return state, push(state, "finish") or fill(state, state["prompts"])
        if gathered(state):
            handed = train(state, state["ready"][:state["prompts"]])
            return state, (handed, *fill(performed(state, handed), state["prompts"]))
        return state, fill(state, state["prompts"])


START = {"kind": "start", "prompts": 1, "siblings": 1, "batches": 9}
EXAMPLES = [Example("batch 1 is sampled while batch 0 trains", {},
                    [START, {"kind": "finished"}, {"kind": "ready", "group": 0}, {"kind": "finished", "group": 1},
                     {"kind": "ready", "group": 1}, {"kind": "updated"}, {"kind": "published"}],
                    {"actions": [["launch 1"], [], ["train 0: 0", "launch 1"], [], [], ["publish"],
                                 ["train 1: 1", "launch 1"]]}),
            Example("the weights wait for what is in flight", {},
                    [START, {"kind": "finished"}, {"kind": "ready", "group": 0}, {"kind": "updated"},
                     {"kind": "finished", "group": 1}],
                    {"actions": [["launch 1"], [], ["train 0: 0", "launch 1"], [], ["publish"]]})]
