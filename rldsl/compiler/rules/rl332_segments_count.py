"""RL332: a trajectory whose context is compacted counts once for each of its segments.

A weight per segment, or a comparison of segments as if they were siblings, gives a trajectory more say the more often
it compacts: the policy is paid for compacting.
Source: CompactionRL: a loss over tokens of whole trajectories, and no group statistics over segments.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import GROUP, PAIR, RESPONSE, SEGMENT, UPDATE, Expr, Reduce
from rldsl.algebra.grain import grain, walk
from rldsl.axes.base import Reduction
from rldsl.axes.traits import COMPACTS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, place, said, written
from ..recipe import Recipe

CODE = "RL332"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that counts segments."""
    for compacts in giving(recipe, COMPACTS)[:1]:
        for node in (n for n in recipe.nodes() if any(_counts_segments(e) for e in written(recipe, n))):
            yield clash(
                CODE, recipe, f"{said(node)} counts segments, and {said(compacts)} gives a trajectory any number of "
                "them.",
                (node.span, "counts segments"), (place(compacts, COMPACTS), "divides a trajectory into segments"),
                why="A trajectory that compacts more often weighs more, or has more siblings, than one that does not.",
                fix="Take whole trajectories: an advantage per response or token, and one of "
                    f"{names('reduction', Reduction)}.")


def _counts_segments(e: Expr) -> bool:
    """Whether a statistic beyond the segment has one member for each segment."""
    return any(isinstance(node, Reduce) and node.over in (RESPONSE, PAIR, GROUP, UPDATE) and grain(node.arg) == SEGMENT
               for node in walk(e))
