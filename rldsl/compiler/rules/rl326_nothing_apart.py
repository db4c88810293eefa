"""RL326: an estimator that sees the parts of a reward apart, and a reward of one part.

With correctness alone there is no second part to weigh: the parameter that weighs it has no effect.
Source: DRPO (Li et al., 2025) and GDPO (arXiv:2601.05242) decouple several rewards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import CORRECT, REWARD
from rldsl.axes.base import VectorEstimator
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import reads, said
from ..objective import reward_parts
from ..recipe import Node, Recipe

CODE = "RL326"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    estimator, parts = recipe.advantage[0], reward_parts(recipe)
    if parts < 2 and decouples(recipe, estimator):
        yield clash(
            CODE, recipe, f"{said(estimator)} keeps the parts of the reward apart, and this reward has only one.",
            (estimator.span, "for a reward of several parts"), (recipe.axis_spans.get("feedback", recipe.span),
                                                                 "one part"),
            why="There is nothing to tell apart: what weighs the parts against each other has no effect.",
            fix="Add the other part to the feedback with `+`, or choose an advantage of one reward.")


def decouples(recipe: Recipe, estimator: Node) -> bool:
    """Whether an estimator reads more of the reward than its sum."""
    return isinstance(estimator.choice, VectorEstimator) or reads(recipe, estimator) >= {CORRECT.name, REWARD.name}
