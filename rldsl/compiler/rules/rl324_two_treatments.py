"""RL324: two treatments of the same event, a response that hit a limit.

Source: each of the published treatments stands alone: DAPO (arXiv:2503.14476), section 3.4, compares two of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import TRUNCATION_RULE
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said
from ..recipe import Recipe

CODE = "RL324"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each treatment after the first."""
    first, *others = giving(recipe, TRUNCATION_RULE) or (None,)
    for node in others:
        yield clash(
            CODE, recipe, f"{said(first)} and {said(node)} both say what happens to a response that hit a "
            "limit.",
            (place(node, TRUNCATION_RULE), "the second treatment"), (place(first, TRUNCATION_RULE), "the first"),
            why="One event can have one treatment: the two contradict or repeat each other.",
            fix="Keep one of them.")
