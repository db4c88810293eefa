"""RL208: responses are cut into units that no formula and no sampler reads.

Source: no option is without effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.structure import Dividing
from rldsl.axes.traits import STEPS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import needing, said, units
from ..recipe import Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each stage that cuts the text for nobody."""
    if needing(recipe, STEPS):
        return
    read = frozenset().union(*(units(recipe, n) for n in recipe.nodes()))
    for node in recipe.sampling[1:]:
        if isinstance(node.choice, Dividing) and node.choice.cut() is not None and not node.choice.divides() & read:
            yield clash(
                CODE, recipe, f"{said(node)} has no effect here: nothing reads {_called(node.choice.divides())}.",
                (node.span, "cuts responses for nobody"),
                why="A setting that does nothing would be believed to do something.",
                fix="Leave it out, or choose what looks inside a response: an advantage, ratio or reduction over "
                    f"{_called(node.choice.divides())}.")


def _called(units: frozenset[str]) -> str:
    return " or ".join(f"{unit}s" for unit in sorted(units))
