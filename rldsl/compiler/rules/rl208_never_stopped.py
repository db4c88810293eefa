"""RL208: what a push does to responses in flight is said, and engines that serve several sets of weights stop nothing.

Each response is ended by the weights that began it; the next ones go into a set of their own.
Source: no option is without effect; LongCat's DORA, several versions served at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said, sampled
from ..recipe import Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such parameter that was written."""
    schedule, placement = recipe.schedule, recipe.placement
    if placement.choice.serves() == 1 or not sampled(recipe):
        return
    for name in sorted(schedule.choice.stopping() & schedule.spans.keys()):
        yield clash(
            CODE, recipe, f"`{schedule.choice.axis}.{schedule.name}.{name}` has no effect here: {said(placement)} "
            f"serves {placement.choice.serves()} sets of weights at once, and a push stops nothing.",
            (schedule.where(name), "for responses that a push stops"),
            (placement.where("versions"), "each response is ended by the weights that began it"),
            why="A parameter that does nothing would be believed to do something.",
            fix=f"Leave `{name}` out, or write versions: 1.")
