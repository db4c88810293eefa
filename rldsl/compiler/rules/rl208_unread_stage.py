"""RL208: responses are cut into units that no formula and no sampler reads, or are to begin with a text though the data
set holds them.

Source: no option is without effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.structure import Beginning, Dividing
from rldsl.axes.traits import STEPS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import needing, said, sampler, units
from ..recipe import Node, Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each stage that cuts the text for nobody, or begins what is finished."""
    if sampler(recipe).stored() is not None:
        yield from (_finished(recipe, n) for n in recipe.sampling[1:] if isinstance(n.choice, Beginning))
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


def _finished(recipe: Recipe, node: Node) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(node)} has no effect here: {said(recipe.sampling[0])} takes finished responses.",
        (node.span, "begins nothing"), (recipe.sampling[0].span, "responses that the data set holds"),
        why="A setting that does nothing would be believed to do something.", fix="Leave it out, or sample responses.")


def _called(units: frozenset[str]) -> str:
    return " or ".join(f"{unit}s" for unit in sorted(units))
