"""RL208: a choice that looks at how old the data is, under a schedule that never lets it grow old.

Every token then has age 0: nothing is dropped or masked, whatever the bound. What an ancestor wrote for another
schedule may stay behind.
Source: the definition of lag, trainer version − the version that sampled; sampling and training in turn keep it at 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import VERSION
from rldsl.axes.base import Distribution, Schedule
from rldsl.axes.traits import ASSERTS_FRESH, FRESH_DATA
from rldsl.diagnostics import Diagnostic

from ..clash import clash, layer
from ..facts import names, reading, said, sampled, stale
from ..recipe import Node, Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such choice that was written no earlier than the schedule."""
    schedule = recipe.schedule
    for node in without_age(recipe):
        yield clash(
            CODE, recipe, f"{said(node)} has no effect here: under {said(schedule)} data is never older than the "
            "trainer.",
            (node.span, "looks at the age of the data"), (schedule.span, "samples and trains in turn"),
            why="The age of every token is 0, which is within every bound.",
            fix=f"Leave it out ({names('distribution', Distribution, gives=ASSERTS_FRESH)} says that nothing is to "
                f"be corrected), or choose a schedule under which data grows old "
                f"({names('system', Schedule, never_gives=FRESH_DATA)}).")


def without_age(recipe: Recipe) -> list[Node]:
    """The choices that look at an age which is always 0."""
    if stale(recipe) or not sampled(recipe):
        return []
    return [n for n in reading(recipe, VERSION.name) if layer(recipe, n.span) >= layer(recipe, recipe.schedule.span)]
