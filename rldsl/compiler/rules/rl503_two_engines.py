"""RL503: different engines sample and train, and nothing looks at the difference.

On a cluster an inference engine samples and a training engine computes gradients: their probabilities for one token
differ by kernels and precision even at equal weights.
Source: Yao et al., "Your efficient RL framework secretly brings you off-policy RL training" (2025).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Distribution
from rldsl.axes.traits import MULTIPLIES_KAPPA
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import accounted, moves, names, said, sampled
from ..lower import asked_of_engines
from ..recipe import Recipe

CODE = "RL503"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; the local backend samples and trains with one engine."""
    if recipe.settings.cluster.where == "local" or accounted(recipe) or asked_of_engines(recipe):
        return
    if not sampled(recipe) or not moves(recipe):
        return  # no policy is trained on what an engine sampled
    yield clash(
        CODE, recipe, f"On a cluster two engines compute the policy, and neither {said(recipe.ratio)} nor "
        f"{said(recipe.distribution[0])} looks at what was really sampled.",
        (recipe.distribution[0].span, "corrects nothing"), (recipe.ratio.span, "compares training log-probs only"),
        (recipe.where("cluster.nodes"), "one engine samples, another trains"),
        why="Their probabilities differ even at equal weights, so the data is slightly off-policy on every "
            "step.",
        fix=f"Correct for it ({names('distribution', Distribution, gives=MULTIPLIES_KAPPA)}), or compare "
            "with what was sampled: current / rollout.", severity="warning")
