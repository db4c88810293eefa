"""RL505: one ratio per response under a reduction that weighs every token alike.

Each token repeats its response's one term, so a response weighs by its length.
Source: GSPO (arXiv:2507.18071), equation 5, averages over responses.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Reduction
from rldsl.axes.traits import RESPONSE_TERM, TOKEN_WEIGHTED
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said
from ..offers import fitting
from ..recipe import Recipe

CODE = "RL505"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    for node in giving(recipe, TOKEN_WEIGHTED) if RESPONSE_TERM in recipe.ratio.choice.gives else ():
        yield clash(
            CODE, recipe, f"{said(recipe.ratio)} gives a response one term, and {said(node)} counts it once "
            "for every token: responses weigh by their length.",
            (place(node, TOKEN_WEIGHTED), "every token weighs the same"), (recipe.ratio.span, "one term per response"),
            why="A response of 4 tokens has twice as much say as one of 2, though each has one ratio.",
            fix="Choose a reduction over responses: "
                f"{fitting(recipe, 'reduction', Reduction, never_gives=TOKEN_WEIGHTED)}.",
            severity="warning")
