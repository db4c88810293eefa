"""Sample a batch, train it, publish the weights, sample the next.

Differs from `one_step_off`: nothing overlaps, so data is never older than the trainer.
Source: the plain PPO loop (arXiv:1707.06347), algorithm 1.
"""

from __future__ import annotations

from typing import Any

from rldsl.axes.base import Action, Event, Schedule
from rldsl.axes.choice import Example
from rldsl.axes.traits import FRESH_DATA


class Sync(Schedule):
    gives = {FRESH_DATA}

    def step(self, state: dict[str, Any], event: Event) -> tuple[dict[str, Any], tuple[Action, ...]]:
        follows = {"start": Action("sample", event.batch), "sampled": Action("train", event.batch),
                   "updated": Action("publish", event.batch), "published": Action("sample", event.batch + 1)}
        return state, (follows[event.kind],)


EXAMPLES = [Example("one thing after another", {},
                    [{"kind": "start"}, {"kind": "sampled"}, {"kind": "updated"}, {"kind": "published"}],
                    {"actions": [["sample 0"], ["train 0"], ["publish 0"], ["sample 1"]]})]
