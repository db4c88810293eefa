"""Launch a prompt whenever enough responses have ended to make place for its group; stop all of it to train a batch.

Differs from `partial`: a round is no unit of launching, so the number of responses in flight never sinks towards the
end of a round; `in_flight` bounds it.
Exact: the source launches the next prompt once as many responses have ended as its group has, under a bound on those
in flight, and stops what is in flight when a batch is complete. It reports that launching by batch made the metrics
oscillate and that launching by prompt waited for the slowest response of a group.
Source: DeepSeek-V4.1 technical report, scheduling by sample (the bound is unpublished).
"""

from __future__ import annotations

from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, busy, gathered, go_on, keep_open, train
from rldsl.axes.traits import CUTS, FIRST_COME
from rldsl.axes.types import Responses


class PerSample(Schedule):
    positional = 1
    gives = {CUTS, FIRST_COME}
    in_flight: Responses  # most responses in flight; a group larger than this is alone
    resume: Literal["reprefill", "keep_state"] = "reprefill"  # what a stopped response goes on from

    def cuts(self) -> bool:
        return True

    def keeps_state(self) -> bool:
        return self.resume == "keep_state"

    def lag(self) -> None:
        return None

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        if event.kind == "updated":
            return state, (Action("publish"),)
        if event.kind in ("paused", "published") and gathered(state):
            return state, (train(state, state["ready"][:state["prompts"]]),)
        if busy(state) or state["paused"] == "asked":
            return state, ()
        if gathered(state):
            return state, (Action("pause"),)
        return state, (*go_on(state), *keep_open(state, self.in_flight))


START = {"kind": "start", "prompts": 1, "siblings": 2, "batches": 9}
EXAMPLES = [Example("two responses of different prompts make place for a third prompt", {"in_flight": 4},
                    [START, {"kind": "finished"}, {"kind": "finished", "group": 1}, {"kind": "finished"},
                     {"kind": "ready"}, {"kind": "paused"}, {"kind": "updated"}, {"kind": "published"}],
                    {"actions": [["launch 2"], [], ["launch 1"], [], ["pause"], ["train 0: 0"], ["publish"],
                                 ["resume"]]})]
