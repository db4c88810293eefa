"""RL325: a limit on how often a response is cut, under a schedule that never cuts one.

The limit would never be reached: the setting has no effect. What a cut response goes on from is a parameter of the
schedules that cut, so it cannot be written elsewhere.
Source: C3PO++ in Ring-1T (arXiv:2510.18855): the retention period counts the rounds that a rollout was cut in.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Schedule
from rldsl.axes.traits import CUTS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import names, needing, place, said
from ..recipe import Recipe

CODE = "RL325"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that counts cuts."""
    schedule = recipe.schedule
    if CUTS in schedule.choice.gives:
        return
    for node in needing(recipe, CUTS):
        yield clash(
            CODE, recipe, f"{said(node)} limits how often a response is cut, and {said(schedule)} never cuts one.",
            (node.span, "counts cuts"), (place(schedule, CUTS), "lets every response end"),
            why="The limit would never be reached.",
            fix=f"Leave it out, or choose a schedule that cuts ({names('system', Schedule, gives=CUTS)}).")
