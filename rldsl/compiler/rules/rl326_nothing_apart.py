"""RL326: an estimator and a reward of which one is in several parts and the other is not.

With correctness alone there is no second part to weigh: the parameter that weighs it has no effect. A vector `[a, b]`
says that its components are to be told apart, which an estimator of one number does not do.
Source: DRPO (Li et al., 2025) and GDPO (arXiv:2601.05242) decouple several rewards.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import CORRECT, REWARD
from rldsl.axes.base import Estimator, VectorEstimator
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import reads, said
from ..objective import reward_parts
from ..offers import closest
from ..recipe import Node, Recipe, vector

CODE = "RL326"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    estimator, parts = recipe.advantage[0], reward_parts(recipe)
    feedback = recipe.axis_spans.get("feedback", recipe.span)
    if parts < 2 and decouples(recipe, estimator):
        yield clash(
            CODE, recipe, f"{said(estimator)} keeps the parts of the reward apart, and this reward has only one.",
            (estimator.span, "for a reward of several parts"), (feedback, "one part"),
            why="There is nothing to tell apart: what weighs the parts against each other has no effect.",
            fix=f"Add the other part to the feedback with `+`, or choose an advantage of one reward: "
                f"{', '.join(closest(recipe, 'advantage', Estimator, lambda c: not _apart(recipe, c)))}.")
    elif vector(recipe.feedback) and not decouples(recipe, estimator):
        apart = closest(recipe, "advantage", Estimator, lambda c: isinstance(c, VectorEstimator))
        yield clash(
            CODE, recipe, f"The reward is a vector, and {said(estimator)} reads one number.",
            (feedback, f"{len(vector(recipe.feedback))} components"), (estimator.span, "one reward"),
            why="The components would be added up before anything could tell them apart.",
            fix=f"Add the components with `+`, or choose an advantage that sees them apart: {', '.join(apart)}.")


def decouples(recipe: Recipe, estimator: Node) -> bool:
    """Whether an estimator reads more of the reward than its sum."""
    return _apart(recipe, estimator.choice)


def _apart(recipe: Recipe, choice: Estimator) -> bool:
    read = reads(recipe, Node(choice, recipe.advantage[0].span))
    return isinstance(choice, VectorEstimator) or read >= {CORRECT.name, REWARD.name}
