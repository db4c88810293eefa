"""RL518: a KL penalty in the loss whose gradient is 0 on average.

The estimate ℓ − log π_to has the right value, but its gradient is that of ℓ alone, and E[∇ℓ] = 0 under the policy
itself: it adds noise and holds nothing. On older data it pushes the sampled tokens down.
Source: Schulman, "Approximating KL divergence" (2020); Liu et al., "Rethinking KL regularization in RLHF" (2025).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.simplify import is_zero
from rldsl.axes.traits import SCORE_ONLY
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said, stated
from ..recipe import Recipe

CODE = "RL518"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each such penalty; a coefficient of 0 adds none."""
    for node in giving(recipe, SCORE_ONLY):
        if not all(map(is_zero, stated(recipe, node))):
            yield clash(
                CODE, recipe, f"{said(node)} has a gradient of 0 on average: its estimate is right in value only.",
                (place(node, SCORE_ONLY), "its gradient does not see the other policy"),
                why="E[∇ log π] = 0 under π, so the penalty adds noise to the step and holds nothing.",
                fix="Write estimator: k2 or k3, or put the KL in the reward.", severity="warning")
