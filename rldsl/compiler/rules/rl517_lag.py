"""RL517: data can be older than the trainer by a bounded amount, and the recipe does not account for it, or mixes it.

`old` is the snapshot at the start of this update phase. Under lag κ = π_old/μ therefore holds the staleness of the
data as well as the mismatch of engines, and bands tuned for the mismatch alone drop more. Without any correction the
lag is not seen at all.
Source: decoupled PPO, Hilton et al. (arXiv:2110.00641); AReaL (arXiv:2505.24298), section 5.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_OLD, LOGP_ROLLOUT
from rldsl.axes.base import Distribution
from rldsl.axes.traits import ASSERTS_FRESH, BOUNDS_LAG, MULTIPLIES_KAPPA
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import accounted, giving, names, proximal, reads, said, stale
from ..recipe import Node, Recipe

CODE = "RL517"
KAPPA = {LOGP_OLD.name, LOGP_ROLLOUT.name}


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each κ under lag, or one where a bounded lag is not accounted for."""
    if not stale(recipe):
        return
    mixed = [n for n in recipe.distribution if reads(recipe, n) >= KAPPA]
    for node in mixed:
        yield _mixed(recipe, node)
    bounded = recipe.schedule.choice.lag() is not None or giving(recipe, BOUNDS_LAG)
    if bounded and not mixed and not accounted(recipe) and not proximal(recipe) and not giving(recipe, ASSERTS_FRESH):
        yield _unseen(recipe)


def _mixed(recipe: Recipe, node: Node) -> Diagnostic:
    return clash(
        CODE, recipe, f"Under {said(recipe.schedule)}, κ = π_old/μ of {said(node)} holds the age of the data "
        "as well as the mismatch of the engines.",
        (node.span, "κ is not mismatch alone"), (recipe.schedule.span, "data can be older than the trainer"),
        why="`old` is the snapshot at the start of the update, μ the older weights that sampled: their ratio "
            "is both.",
        fix="Widen the band if it was tuned on fresh data, or watch the dropped share.", severity="warning")


def _unseen(recipe: Recipe) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(recipe.schedule)} makes data older than the trainer, and neither "
        f"{said(recipe.ratio)} nor {said(recipe.distribution[0])} accounts for it.",
        (recipe.distribution[0].span, "corrects nothing"), (recipe.schedule.span, "data can be older than the trainer"),
        (recipe.ratio.span, "compares with the trainer's own snapshot"),
        why="`old` is the snapshot at the start of the update, not the weights that sampled: the gradient is "
            "slightly biased.",
        fix="Write current / rollout in the ratio, or add a correction "
            f"({names('distribution', Distribution, gives=MULTIPLIES_KAPPA)}).", severity="warning")
