"""RL333: bit-equal log-probs are asked for, and stopped responses go on from an engine's kept state.

Keys and values of older weights under newer ones are no single model's distribution: no forward of the trainer gives
the recorded log-probs again. Alone, kept state is sound: the recorded probability is then the only true one.
Source: DeepSeek-V4.1 technical report, responses that go on under a new checkpoint without a prefill.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import BIT_EQUAL
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said
from ..recipe import Recipe

CODE = "RL333"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    schedule, nodes = recipe.schedule, giving(recipe, BIT_EQUAL)
    if not nodes or not schedule.choice.keeps_state():
        return
    yield clash(
        CODE, recipe, f"{said(nodes[0])} asks for bit-equal log-probs, and {said(schedule)} goes on from state that "
        "older weights made.",
        (place(nodes[0], BIT_EQUAL), "asks for equal bits"), (schedule.where("resume"), "keeps an engine's state"),
        why="Older keys and values under newer weights are no single model's distribution, so nothing can compute the "
            "recorded log-probs again.",
        fix="Write resume: reprefill, or correct for the mismatch instead of asking for equal bits.")
