"""End a round at a number of generated tokens, train what is whole, take up the rest in the next round.

As many responses as `data.prompts` prompts have are kept in flight: where a group's worth has ended, the next prompt
is launched. A round ends when the responses that ended in it have the budget of tokens and one prompt at least is
whole.
Differs from `partial`: the work of a round is fixed in tokens, not in responses, so a round of short answers trains
more prompts.
Exact: the source bounds a round by a budget Φ of tokens over all engines; counting a response when it ends, and
training prompts whole, is ours.
Source: Ring-1T (arXiv:2510.18855), C3PO++ (Φ is unpublished).
"""

from __future__ import annotations

from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, busy, go_on, keep_open, settled, train
from rldsl.axes.traits import CUTS, FIRST_COME
from rldsl.axes.types import Tokens


class TokenBudget(Schedule):
    positional = 1
    gives = {CUTS, FIRST_COME}
    tokens: Tokens  # generated tokens that end a round, Φ
    resume: Literal["reprefill", "keep_state"] = "reprefill"  # what a stopped response goes on from

    def cuts(self) -> bool:
        return True

    def keeps_state(self) -> bool:
        return self.resume == "keep_state"

    def whole(self) -> bool:
        return False

    def lag(self) -> None:
        return None

    def initial(self) -> State:
        return {"spent": 0}

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        if event.kind == "updated":
            return {**state, "spent": 0}, (Action("publish"),)
        if event.kind == "finished":
            state = {**state, "spent": state["spent"] + event.tokens}
        if event.kind == "paused" and state["ready"]:
            return state, (train(state, state["ready"]),)
        if busy(state) or state["paused"] == "asked":
            return state, ()
        if self._over(state):
            return state, (Action("pause"),)
        return state, (*go_on(state), *self._launch(state))

    def _launch(self, state: State) -> tuple[Action, ...]:
        return keep_open(state, state["prompts"] * state["siblings"])

    def _over(self, state: State) -> bool:
        drained = settled(state) and not self._launch(state)
        return ((state["spent"] >= self.tokens or drained) and bool(state["ready"])) or (state["exhausted"] and drained)


START = {"kind": "start", "prompts": 2, "siblings": 1, "batches": 9}
EXAMPLES = [Example("what ends is replaced until the round has 100 tokens", {"tokens": 100},
                    [START, {"kind": "finished", "tokens": 60}, {"kind": "ready"},
                     {"kind": "finished", "group": 2, "tokens": 50}, {"kind": "ready", "group": 2}, {"kind": "paused"},
                     {"kind": "updated"}, {"kind": "published"}],
                    {"actions": [["launch 2"], ["launch 1"], [], ["pause"], [], ["train 0: 0 2"], ["publish"],
                                 ["resume", "launch 1"]]})]
