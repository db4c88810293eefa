"""RL210: two stages of sampling say where steps end, or how responses begin.

Source: one fact has one place.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.structure import Beginning, Dividing
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said
from ..recipe import Node, Recipe

CODE = "RL210"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each stage after the first that says the same."""
    for says in (_cuts, _begins):
        first, *others = [n for n in recipe.sampling[1:] if says(n)] or (None,)
        for node in others:
            yield clash(
                CODE, recipe, f"{said(first)} and {said(node)} both say the same of every response.",
                (node.span, "said again"), (first.span, "said here"),
                why="A response is cut by one rule, and begins in one way.", fix="Keep one of them.")


def _cuts(node: Node) -> bool:
    return isinstance(node.choice, Dividing) and node.choice.cut() is not None


def _begins(node: Node) -> bool:
    return isinstance(node.choice, Beginning)
