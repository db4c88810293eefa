"""RL307: data may be arbitrarily old, and nothing bounds its age or accounts for it.

The loss then uses a distribution that did not make the data; asynchronous runs collapse after some hundred steps.
Source: AReaL (arXiv:2505.24298), section 5.3: without staleness control or a decoupled objective, accuracy falls.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Distribution
from rldsl.axes.traits import ASSERTS_FRESH, BOUNDS_LAG, CUTS, MULTIPLIES_KAPPA
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import accounted, cuts, giving, names, proximal, said, stale
from ..recipe import Recipe

CODE = "RL307"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding where the schedule has no bound of its own and no choice makes up for it.

    An assertion that data is fresh has a rule of its own.
    """
    schedule = recipe.schedule
    if not stale(recipe) or schedule.choice.lag() is not None or giving(recipe, BOUNDS_LAG) or (
            accounted(recipe) or proximal(recipe) or giving(recipe, ASSERTS_FRESH)):
        return
    yield clash(
        CODE, recipe,
        f"{said(schedule)} lets data grow older than the trainer without any bound, and neither the ratio, "
        "the distribution nor the gate accounts for it.",
        (schedule.span, "no bound on the age of the data"),
        *((node.span, "corrects nothing") for node in recipe.distribution),
        (recipe.ratio.span, "does not look at what was really sampled"),
        why="The loss would use probabilities of a policy that did not make the data.",
        fix=f"Bound the age ({_bounds(recipe)}), correct for it "
            f"({names('distribution', Distribution, gives=MULTIPLIES_KAPPA)}), compare with what was sampled "
            "(current / rollout), or keep the policy near `old` with a term on the gate.")


def _bounds(recipe: Recipe) -> str:
    never = None if cuts(recipe) else CUTS
    return names("distribution", Distribution, gives=BOUNDS_LAG, never_needs=never)
