"""RL506: sampling refills the batch without a bound on its rounds.

When no group passes any more, because the task has become too easy or too hard, such a run samples for ever.
Source: DAPO (arXiv:2503.14476), section 3.2, refills until the batch is full.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said
from ..recipe import Recipe

CODE = "RL506"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each stage without a bound."""
    for node in recipe.sampling[1:]:
        if node.choice.keeps() is not None and node.choice.rounds() is None:
            yield clash(
                CODE, recipe, f"{said(node)} refills the batch without a bound on its rounds.",
                (node.where("max_rounds"), "no max_rounds"),
                why="When every group is all right or all wrong, no round ever fills the batch.",
                fix="Write max_rounds: 10, and `exhausted` for what happens then.", severity="warning")
