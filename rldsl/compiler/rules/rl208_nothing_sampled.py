"""RL208: a choice about how sampling goes on, where the data set holds the responses and nothing is sampled.

A schedule says when to sample beside training; a stage may begin responses, or hold their sources back. Stored
responses are there before the run begins, of no age and in no need of either.
Source: no option is without effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Schedule
from rldsl.axes.structure import Beginning
from rldsl.axes.traits import FRESH_DATA
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import names, said, sampled
from ..recipe import Node, Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such stage, and one for the schedule."""
    if sampled(recipe):
        return
    for node in recipe.sampling[1:]:
        if isinstance(node.choice, Beginning):
            yield _idle(recipe, node, "begins nothing", "Leave it out, or sample responses.")
        elif node.choice.at_once() is not None:
            yield _idle(recipe, node, "holds nothing back", "Leave it out, or sample responses.")
    if recipe.schedule.choice.lag() != 0:
        yield _idle(recipe, recipe.schedule, "has nothing to sample beside training",
                    f"Train on what is there ({names('system', Schedule, gives=FRESH_DATA)}), or sample responses.")


def _idle(recipe: Recipe, node: Node, label: str, fix: str) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(node)} has no effect here: {said(recipe.sampling[0])} takes finished responses.",
        (node.span, label), (recipe.sampling[0].span, "responses that the data set holds"),
        why="A setting that does nothing would be believed to do something.", fix=fix)
