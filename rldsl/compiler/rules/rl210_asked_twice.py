"""RL210: two choices ask the same of the engines.

What an engine does is one thing: of two formats for its weights only one would be computed in.
Source: one fact has one place.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.alignment import Alignment
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said
from ..recipe import Node, Recipe

CODE = "RL210"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice whose wish an earlier one has."""
    first: dict[str, Node] = {}
    for node in recipe.distribution:
        if not isinstance(node.choice, Alignment):
            continue
        asked = node.choice.engines()
        if before := next((first[option] for option in asked if option in first), None):
            same = said(node) == said(before)
            yield clash(
                CODE, recipe, f"{said(node)} is there twice, and asks the engines for one thing." if same else
                f"{said(before)} and {said(node)} both ask the engines for one thing.",
                (node.span, "asked again"), (before.span, "asked here"),
                why="An engine does it in one way: the other would silently be left out.", fix="Keep one of them.")
        first = dict.fromkeys(asked, node) | first
