"""Sample without a break: the trainer starts at every full batch, and gets its weights out every so many updates.

As many responses as a batch has are kept in flight: where a group's worth has ended, the next prompt is launched, also
while the trainer works.
Differs from `one_step_off`: a batch is whatever is complete first, so nothing waits for the slowest response and
nothing bounds the age of the data; `admit` and `max_lag` do.
Exact: the weights that are sent are those at the end of the first batch by which `push_every` updates have gathered.
The trainer goes on with the next batch meanwhile, but is never further ahead of what was sent than that; where the
optimizer begins anew, it waits. A batch of which nothing was left to train counts as if they had gathered: else what
is sampled meanwhile would be as many batches older, and under a bound on its age nothing would be left for ever.
Source: GLM-5 technical report, asynchronous agentic RL (K unpublished; the optimizer begins anew at each push);
LongCat's DORA (what is in flight is finished by its own weights: `versions` on the placement); slime's asynchronous
training.
"""

from __future__ import annotations

from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, after, export, gathered, go_on, keep_open, send, train
from rldsl.axes.traits import CUTS, FIRST_COME, Trait
from rldsl.axes.types import Updates


class Stream(Schedule):
    positional = 1
    decided_by = {CUTS: "interrupt"}
    push_every: Updates  # updates between two pushes of the weights, K
    interrupt: Literal["abort", "finish"] = "abort"  # what a push does to responses in flight: stop them, or wait
    resume: Literal["reprefill", "keep_state"] = "reprefill"  # what a stopped response goes on from
    reset_optimizer: Literal["never", "on_push"] = "never"  # when the optimizer's state begins anew

    @property
    def gives(self) -> frozenset[Trait]:
        return frozenset({FIRST_COME, *([CUTS] if self.cuts() else [])})

    def unread(self) -> dict[str, str]:
        unused = self.interrupt == "finish" and self.resume != "reprefill"
        return {"resume": "interrupt: abort"} if unused else {}

    def overlaps(self) -> bool:
        return True

    def cuts(self) -> bool:
        return self.interrupt == "abort"

    def stopping(self) -> frozenset[str]:
        return frozenset({"interrupt", "resume"})

    def keeps_state(self) -> bool:
        return self.cuts() and self.resume == "keep_state"

    def lag(self) -> None:
        return None

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        reset = self.reset_optimizer == "on_push"
        none = event.kind == "updated" and not event.updates
        out = export(state) if none or state["updates"] >= self.push_every else ()
        now = after(state, out)
        waits = now["exported"] and (reset or now["updates"] >= self.push_every)
        if not now["training"] and not waits and gathered(now):
            out = (*out, train(now, now["ready"][:now["prompts"]]))
        now = after(state, out)
        out = (*out, *send(now, self.interrupt, reset=reset))
        if now["exported"] and now["versions"] == 1:
            return state, out
        return state, (*go_on(now), *out, *keep_open(now, now["prompts"] * now["siblings"]))


START = {"kind": "start", "prompts": 1, "siblings": 1, "batches": 9}
DONE = [START, {"kind": "finished"}, {"kind": "ready"}, {"kind": "updated", "updates": 1}]
EXAMPLES = [Example("sampling goes on while the trainer works; a push stops what is in flight for its time",
                    {"push_every": 1},
                    [*DONE, {"kind": "paused"}, {"kind": "published"}],
                    {"actions": [["launch 1"], ["launch 1"], ["train 0: 0"], ["export", "pause"], ["publish"],
                                 ["resume"]]}),
            Example("the trainer goes on while weights are sent", {"push_every": 1},
                    [{**START, "siblings": 2}, {"kind": "finished"}, {"kind": "finished"}, {"kind": "ready"},
                     {"kind": "finished", "group": 1}, {"kind": "finished", "group": 1}, {"kind": "ready", "group": 1},
                     {"kind": "updated", "updates": 1}],
                    {"actions": [["launch 1"], [], ["launch 1"], ["train 0: 0"], [], ["launch 1"], [],
                                 ["export", "train 1: 1", "pause"]]}),
            Example("with `interrupt: finish` the push waits for what is in flight",
                    {"push_every": 1, "interrupt": "finish"}, [*DONE, {"kind": "finished", "group": 1}],
                    {"actions": [["launch 1"], ["launch 1"], ["train 0: 0"], ["export"], ["publish"]]}),
            Example("a batch without an update is told to the engines too", {"push_every": 4},
                    [*DONE[:3], {"kind": "updated"}],
                    {"actions": [["launch 1"], ["launch 1"], ["train 0: 0"], ["export", "pause"]]}),
            Example("with admission no prompt begins while newer weights are on their way", {"push_every": 1},
                    [{**START, "versions": 2, "admit": 3}, *DONE[1:], {"kind": "finished", "group": 1},
                     {"kind": "published"}],
                    {"actions": [["launch 1"], ["launch 1"], ["train 0: 0"], ["export", "publish"], [], ["launch 1"]]}),
            Example("engines that serve two versions need no pause", {"push_every": 1},
                    [{**START, "versions": 2}, *DONE[1:]],
                    {"actions": [["launch 1"], ["launch 1"], ["train 0: 0"], ["export", "publish"]]})]
