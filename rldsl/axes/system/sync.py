"""Sample a batch, train it, publish the weights, sample the next.

Differs from `one_step_off`: nothing overlaps, so data is never older than the trainer.
Source: the plain PPO loop (arXiv:1707.06347), algorithm 1.
"""

from __future__ import annotations

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, busy, fill, gathered, train
from rldsl.axes.traits import FRESH_DATA


class Sync(Schedule):
    gives = {FRESH_DATA}

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        if event.kind == "updated":
            return state, (Action("publish"),)
        if busy(state):
            return state, ()
        if gathered(state):
            return state, (train(state, state["ready"][:state["prompts"]]),)
        return state, fill(state, state["prompts"])


START = {"kind": "start", "prompts": 2, "siblings": 1, "batches": 9}
EXAMPLES = [Example("one thing after another", {},
                    [START, {"kind": "finished"}, {"kind": "ready", "group": 0}, {"kind": "finished", "group": 1},
                     {"kind": "ready", "group": 1}, {"kind": "updated"}, {"kind": "published"}],
                    {"actions": [["launch 2"], [], [], [], ["train 0: 0 1"], ["publish"], ["launch 2"]]}),
            Example("a group that a filter takes is replaced", {}, [START, {"kind": "dropped", "group": 1}],
                    {"actions": [["launch 2"], ["launch 1"]]})]
