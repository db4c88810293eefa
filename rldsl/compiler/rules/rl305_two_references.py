"""RL305: a KL to the reference policy both in the reward and in the loss.

One regulariser on two paths: the two coefficients add up, and neither says how strong the whole is.
Source: the two placements in DeepSeekMath (arXiv:2402.03300), section 4.1.1: GRPO moves the KL, it does not repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.simplify import is_zero
from rldsl.axes.traits import REFERENCE_KL
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said, stated
from ..recipe import Recipe

CODE = "RL305"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each KL in the loss beside one in the reward; a coefficient of 0 is no KL."""
    found = [n for n in giving(recipe, REFERENCE_KL) if not all(map(is_zero, stated(recipe, n)))]
    rewarded = [n for n in found if n.choice.axis == "feedback"]
    for node in found:
        if rewarded and node.choice.axis != "feedback":
            first = rewarded[0]
            yield clash(
                CODE, recipe,
                f"A KL to the reference policy stands in the reward ({said(first)}) and in the loss "
                f"({said(node)}).",
                (place(node, REFERENCE_KL), "in the loss"), (place(first, REFERENCE_KL), "in the reward"),
                why="It is one regulariser on two paths: its strength is neither of the two coefficients.",
                fix=f"Keep {said(first)} or {said(node)}, and give it the coefficient that is meant.")
