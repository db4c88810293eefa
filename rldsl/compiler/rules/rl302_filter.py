"""RL302: a filter on the outcomes of live groups where a prompt has only one response.

A group of one is all right or all wrong, never mixed: every group is dropped and sampling never ends.
Source: dynamic sampling in DAPO (arXiv:2503.14476), equation 11, which needs 0 < correct < G.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import GROUP_OUTCOMES, SIBLINGS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, needing, place, said
from ..recipe import Recipe
from .rl301_siblings import remedy

CODE = "RL302"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such filter."""
    source = recipe.sampling[0]
    for node in () if giving(recipe, SIBLINGS) else needing(recipe, SIBLINGS):
        if GROUP_OUTCOMES in node.choice.gives:
            yield clash(
                CODE, recipe,
                f"{said(node)} looks at the outcomes of a whole group, and {said(source)} gives 1 response "
                "to each prompt.",
                (place(node, SIBLINGS), "filters groups"), (place(source, SIBLINGS), "1 response to each prompt"),
                why="A group of one is never mixed: every prompt would be dropped.",
                fix=f"{remedy(recipe)}, or leave {said(node)} out.")
