"""RL313: a schedule that overlaps sampling with training on a placement that shares its devices.

One device cannot generate and train at the same time: the run would wait for itself or exceed its memory.
Source: verl's hybrid engine (arXiv:2409.19256), section 4, time-shares; AReaL (arXiv:2505.24298) separates.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Placement, Schedule
from rldsl.axes.traits import FRESH_DATA, SEPARATE_DEVICES
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import names, said, sampled
from ..recipe import Recipe

CODE = "RL313"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    schedule, placement = recipe.schedule, recipe.placement
    if sampled(recipe) and schedule.choice.overlaps() and placement.choice.shared():
        yield clash(
            CODE, recipe, f"The schedule {said(schedule)} samples while it trains, and on the placement "
            f"{said(placement)} both use the same devices.",
            (placement.span, "one pool of devices"), (schedule.span, "samples and trains at once"),
            why="One device cannot generate and train at the same time.",
            fix=f"Give each its own devices ({names('system', Placement, gives=SEPARATE_DEVICES)}), or "
                f"choose a schedule that takes turns ({names('system', Schedule, gives=FRESH_DATA)}).")
