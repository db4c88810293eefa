"""Take what is complete only from a window at the head of the queue, in any order inside it, never from beyond it.

The queue is the N prompts that were launched and that no batch has taken, in the order of launch; N is `queue` batches
of them. A batch may take complete prompts from the head T_i to T_{i+W−1}, W = width·N and at least one: those beyond
wait until the head is taken, however early they were complete.
Differs from `stream`: slow prompts cannot be overtaken for ever, so batches keep the mix of lengths, and no data is
more than 1 + queue + ⌈width·queue⌉ batches old.
Exact: the source's queue is of trajectories; training prompts whole makes it a queue of prompts. The bound is ours. A
prompt is launched when batch m is complete and waits for the trainer, or while batch m is being taken, and never while
weights are being sent; either way its weights are of m − 1 batches at least. At most N − 1 prompts before it and W − 1
after it are taken first, so that it is in batch m + queue + ⌈width·queue⌉ at the latest.
Source: MiniMax Forge (arXiv:2605.26494), windowed FIFO, W = 0.3·N.
"""

from __future__ import annotations

import math
from typing import Literal

from rldsl.axes.choice import Example
from rldsl.axes.control import Action, Event, Schedule, State, after, export, fill, go_on, send, settled, train
from rldsl.axes.traits import CUTS, Trait
from rldsl.axes.types import Batches, OpenFraction


class Windowed(Schedule):
    positional = 1
    decided_by = {CUTS: "interrupt"}
    width: OpenFraction = 0.3  # the window's length, as a share of the queue
    queue: Batches = 1  # the queue's length
    interrupt: Literal["abort", "finish"] = "abort"  # what a push does to responses in flight: stop them, or wait
    resume: Literal["reprefill", "keep_state"] = "reprefill"  # what a stopped response goes on from

    @property
    def gives(self) -> frozenset[Trait]:
        return frozenset({CUTS} if self.cuts() else ())

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

    def lag(self) -> int:
        return 1 + self.queue + math.ceil(self.width * self.queue)

    def initial(self) -> State:
        return {"head": 0, "passed": [], "waiting": [], "taken": []}

    def decide(self, state: State, event: Event) -> tuple[State, tuple[Action, ...]]:
        state = self._take(self._noted(state, event))
        out = export(state) if state["behind"] else ()
        now = after(state, out)
        if not now["training"] and not (now["exported"] and now["behind"]) and self._complete(now):
            out = (*out, train(now, now["taken"]))
            state = self._take({**state, "taken": []})
        now = after(state, out)
        out = (*out, *send(now, self.interrupt))
        if now["exported"]:
            return state, out
        return state, (*go_on(now), *out, *fill(now, self.queue * now["prompts"] + len(now["taken"])))

    def _complete(self, state: State) -> bool:
        return len(state["taken"]) == state["prompts"] or (state["exhausted"] and settled(state))

    def _noted(self, state: State, event: Event) -> State:
        match event.kind:
            case "start":
                return {**state, "head": state["group"]}
            case "ready":
                return {**state, "waiting": sorted([*state["waiting"], event.group])}
            case "dropped":
                return {**state, **_passed(state, [event.group])}
        return state

    def _take(self, state: State) -> State:
        """Takes what may be taken, the head's side first, until the batch is complete."""
        width = max(1, int(self.width * self.queue * state["prompts"]))
        while (state["waiting"] and len(state["taken"]) < state["prompts"]
               and state["waiting"][0] < state["head"] + width):
            group = state["waiting"][0]
            state = {**state, "waiting": state["waiting"][1:], "taken": [*state["taken"], group],
                     **_passed(state, [group])}
        return state


def _passed(state: State, groups: list[int]) -> State:
    """The head behind everything that was taken or dropped without a gap; what lies beyond a gap is in `passed`."""
    head, passed = state["head"], sorted([*state["passed"], *groups])
    while passed and passed[0] == head:
        head, passed = head + 1, passed[1:]
    return {"head": head, "passed": passed}


START = {"kind": "start", "prompts": 2, "siblings": 1, "batches": 9}
EXAMPLES = [Example("a window of one is strict order: prompt 1 waits for prompt 0", {"width": 0.5},
                    [START, {"kind": "finished", "group": 1}, {"kind": "ready", "group": 1}, {"kind": "finished"},
                     {"kind": "ready", "group": 0}],
                    {"actions": [["launch 2"], [], [], [], ["train 0: 0 1", "launch 2"]]}),
            Example("a window of a whole batch lets prompt 1 be taken first, and prompt 2 not", {"width": 1.0},
                    [START, {"kind": "finished", "group": 1}, {"kind": "ready", "group": 1},
                     {"kind": "finished", "group": 2}, {"kind": "ready", "group": 2}, {"kind": "finished"},
                     {"kind": "ready", "group": 0}],
                    {"actions": [["launch 2"], [], ["launch 1"], [], [], [], ["train 0: 1 0", "launch 2"]]}),
            Example("a queue of two batches", {"width": 0.5, "queue": 2}, [START], {"actions": [["launch 4"]]})]
