"""Stop sampling once a fraction of the pool is done, train what is whole, take up the rest first in the next round.

A round begins with the responses of `data.prompts` prompts in flight: those left over, then new prompts. It ends when
the fraction λ of them has ended and one prompt at least is whole; the whole ones are the batch. A response that was
stopped goes on under the new weights, so its tokens have several versions.
Differs from `sync`: the slowest responses do not hold up a batch, and a batch has more or fewer prompts; λ = 1 is
`sync`.
Exact: the source stops at λ·N·K of the round's N prompts with K responses each; that prompts are trained whole, and
that a round has at least one, is ours.
Source: Kimi k1.5 (arXiv:2501.12599), partial rollouts; Kimi K3 technical report, the fraction λ (unpublished).
"""

from __future__ import annotations

import math
from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, busy, fill, go_on, keep_open, settled, train
from rldsl.axes.traits import CUTS
from rldsl.axes.types import OpenFraction


class Partial(Schedule):
    positional = 1
    gives = {CUTS}
    fraction: OpenFraction  # share of the pool's responses that must have ended, λ
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
        return {"done": 0, "goal": 0}

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        if event.kind in ("finished", "retired"):
            state = {**state, "done": state["done"] + 1}
        if event.kind == "updated":
            return state, (Action("publish"),)
        if event.kind == "paused" and state["ready"]:
            return state, (train(state, state["ready"]),)
        if event.kind in ("start", "paused", "published"):
            return self._round(state)
        if busy(state) or state["paused"] == "asked":
            return state, ()
        if self._over(state):
            return state, (Action("pause"),)
        return state, fill(state, state["pool"] + 1) if event.kind == "dropped" else ()

    def _round(self, state: State) -> tuple[State, tuple[Action, ...]]:
        """Takes up what is left and launches what is missing to a full round."""
        launched = keep_open(state, state["prompts"] * state["siblings"])
        asked = state["open"] + sum(a.prompts for a in launched) * state["siblings"]
        return {**state, "done": 0, "goal": math.ceil(self.fraction * asked)}, (*go_on(state), *launched)

    def _over(self, state: State) -> bool:
        done = state["done"] >= state["goal"] or settled(state)
        return (done and bool(state["ready"])) or (state["exhausted"] and settled(state))


START = {"kind": "start", "prompts": 2, "siblings": 2, "batches": 9}
EXAMPLES = [Example("one of two prompts is whole at half of the responses; the other goes on in the next round",
                    {"fraction": 0.5},
                    [START, {"kind": "finished"}, {"kind": "finished"}, {"kind": "ready"}, {"kind": "paused"},
                     {"kind": "updated"}, {"kind": "published"}],
                    {"actions": [["launch 2"], [], [], ["pause"], ["train 0: 0"], ["publish"],
                                 ["resume", "launch 1"]]}),
            Example("half of the responses and no whole prompt: the round goes on", {"fraction": 0.5},
                    [START, {"kind": "finished"}, {"kind": "finished", "group": 1}],
                    {"actions": [["launch 2"], [], []]})]
