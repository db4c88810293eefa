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
from ..facts import cuts, names, needing, said
from ..recipe import Recipe

CODE = "RL325"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that counts cuts."""
    schedule, placement = recipe.schedule, recipe.placement
    if cuts(recipe):
        return
    ended = schedule.choice.cuts()
    who, where = (placement, "versions") if ended else (schedule, schedule.choice.decided_by.get(CUTS, ""))
    for node in needing(recipe, CUTS):
        yield clash(
            CODE, recipe, f"{said(node)} limits how often a response is cut, and under {said(who)} none is.",
            (node.span, "counts cuts"), (who.where(where), "lets every response end"),
            why="The limit would never be reached.",
            fix="Leave it out, or write versions: 1." if ended else
                f"Leave it out, or choose a schedule that cuts ({names('system', Schedule, gives=CUTS)}).")
