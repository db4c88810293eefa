"""RL509: batches are made of whatever is complete first, so quick responses come first and fill them.

The early batches hold mostly short responses, and a policy that is trained on them writes shorter ones.
Source: DeepSeek-V4.1 technical report: limits on concurrency by data set, short responses that return early; MiniMax
Forge (arXiv:2605.26494): a greedy queue drifts towards what is quick and easy.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import SamplingStage, Schedule
from rldsl.axes.traits import EVENS_LENGTHS, FIRST_COME
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, said, sampled
from ..recipe import Recipe

CODE = "RL509"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    schedule = recipe.schedule
    if not sampled(recipe) or FIRST_COME not in schedule.choice.gives or giving(recipe, EVENS_LENGTHS):
        return
    yield clash(
        CODE, recipe, f"{said(schedule)} makes batches of what is complete first, and nothing holds short responses "
        "back.", (schedule.span, "first come, first trained"),
        why="Quick responses fill the early batches, and the policy is drawn towards short answers.",
        fix="Watch the length of trained responses against that of sampled ones, limit each source of prompts "
            f"({names('sampling', SamplingStage, gives=EVENS_LENGTHS)}), or choose a schedule that keeps the order of "
            f"launch ({names('system', Schedule, never_gives=FIRST_COME)}).", severity="warning")
