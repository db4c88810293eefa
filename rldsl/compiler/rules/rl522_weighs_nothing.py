"""RL522: a term of the reward with weight 0 that nothing else looks at.

It is scored and costs its time; no advantage sees it. A filter or an estimator that looks at the term itself gives it
a purpose, and so does a coefficient of 0 on a regulariser, which has none of a scorer's cost.
Source: the feedback algebra of the language reference: `w * a` weighs.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import CORRECT, score
from rldsl.axes.base import Source
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import reading, said, weighed
from ..objective import labelled
from ..recipe import Recipe, feedback_nodes
from .rl335_no_gradient import check as always_zero

CODE = "RL522"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such term; a reward that is 0 throughout has a rule of its own."""
    if any(always_zero(recipe)):
        return
    labels = labelled([n for n in feedback_nodes(recipe.feedback) if isinstance(n.choice, Source)])
    apart = [n for n in recipe.nodes() if n.choice.axis != "feedback"]
    for node, weight, span in weighed(recipe.feedback):
        own = [score(label).name for n, label in labels if n is node]
        looks = [n for n in reading(recipe, *own, CORRECT.name) if n in apart]
        if weight == 0 and not (own and looks):
            yield clash(
                CODE, recipe, f"{said(node)} weighs 0: it changes no reward, and nothing else looks at it.",
                (span, "times 0"), (node.span, "changes nothing"),
                why="It is computed for every response, and no advantage sees it.",
                fix="Leave it out, or give it a weight other than 0.", severity="warning")
