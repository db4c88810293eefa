"""RL323: a term that bounds or weighs by the importance ratio where there is none.

Source: REINFORCE, Williams (1992), has no ratio: r ≡ 1 is inside every bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Gate, Ratio
from rldsl.axes.traits import RATIO
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, needing, place, said
from ..offers import fitting
from ..recipe import Recipe

CODE = "RL323"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that needs a ratio."""
    for node in () if giving(recipe, RATIO) else needing(recipe, RATIO):
        instead = f"a gate that needs none ({fitting(recipe, 'gate', Gate, never_needs=RATIO)})" \
            if isinstance(node.choice, Gate) else "no weight by the ratio"
        yield clash(
            CODE, recipe, f"{said(node)} needs an importance ratio, and {said(recipe.ratio)} on ratio gives "
            "none.",
            (place(node, RATIO), "needs a ratio"), (recipe.ratio.span, "r ≡ 1"),
            why="There is no ratio to bound or to weigh by: r is 1 for every token.",
            fix=f"Choose a ratio ({fitting(recipe, 'ratio', Ratio, gives=RATIO)}), or {instead}.")
