"""RL306: a reward on every token under an advantage that reads one outcome per response.

The per-token part never reaches the update, though its model runs and its metric is logged.
Source: TRL and verl both ignore the in-reward KL under group estimators; InstructGPT (arXiv:2203.02155), equation 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Estimator
from rldsl.axes.traits import REFERENCE_KL, TOKEN_REWARDS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, needing, place, said, without
from ..offers import fitting
from ..recipe import Recipe

CODE = "RL306"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice whose per-token reward is lost."""
    estimator = recipe.advantage[0]
    for node in () if giving(recipe, TOKEN_REWARDS) else needing(recipe, TOKEN_REWARDS):
        other = without(node.choice, TOKEN_REWARDS)
        yield clash(
            CODE, recipe,
            f"{said(node)} puts a reward on every token, and {said(estimator)} reads one reward per "
            "response.",
            (place(node, TOKEN_REWARDS), "a reward on every token"), (estimator.span, "reads the response's total"),
            why="The reward on the tokens never reaches an advantage, so it would change nothing.",
            fix=(f"Write {other} in {said(node)}, or choose" if other else "Choose") + " an advantage that reads every "
                f"token's reward ({fitting(recipe, 'advantage', Estimator, gives=TOKEN_REWARDS)})" + (
                ", or put the penalty on the gate." if REFERENCE_KL in node.choice.gives else "."))
