"""RL210: an assertion that nothing is to be corrected, beside a correction.

Both say with what weight the data counts: 1 because it is the policy's own, or another one because it is not.
Source: the on-policy setting of PPO (arXiv:1707.06347); engine mismatch: Yao et al. (2025).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import Const
from rldsl.algebra.simplify import simplify
from rldsl.axes.traits import ASSERTS_FRESH
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said, stale
from ..recipe import Node, Recipe
from .rl208_age import without_age

CODE = "RL210"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each correction beside such an assertion. A correction without any effect, and an assertion that
    the schedule makes false, have rules of their own."""
    idle = without_age(recipe)
    for asserting in () if stale(recipe) else giving(recipe, ASSERTS_FRESH):
        for node in recipe.distribution:
            if node is not asserting and corrects(node) and node not in idle:
                yield clash(
                    CODE, recipe, f"{said(asserting)} says that nothing is to be corrected, and {said(node)} corrects.",
                    (node.span, "weighs or drops tokens"),
                    (place(asserting, ASSERTS_FRESH), "weight 1 for every token"),
                    why="One weight belongs to a token: that of the correction would win, and the recipe would say "
                        "otherwise.",
                    fix=f"Leave out {said(asserting)} where the data needs the correction, else {said(node)}; that "
                        "data is fresh, the schedule says.")


def corrects(node: Node) -> bool:
    """Whether a choice weighs or drops anything."""
    return simplify(node.choice.correction()) != Const(1.0) or node.choice.stays() is not None
