"""RL311: the recipe asserts fresh data where the schedule or further updates make that false.

Harm: from the second update on, data of π_old weighed as if it were π_θ's own gives a biased gradient.
Source: the policy gradient theorem, Sutton et al. (2000), holds for samples of the current policy only.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Distribution, Ratio, Schedule
from rldsl.axes.traits import ASSERTS_FRESH, BOUNDS_LAG, CUTS, FRESH_DATA, MULTIPLIES_KAPPA, RATIO
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import (
    cuts,
    giving,
    lives_by_advantage,
    moves,
    names,
    no_advantage,
    place,
    proximal,
    said,
    sampled,
    stale,
    updates,
)
from ..offers import fitting
from ..recipe import Node, Recipe
from .rl210_no_correction import corrects

CODE = "RL311"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """Up to two findings for each assertion: the schedule, and updates without a ratio."""
    for node in giving(recipe, ASSERTS_FRESH):
        if stale(recipe):
            yield _lagging(recipe, node)
        several = updates(recipe) > 1 and moves(recipe) and not no_advantage(recipe) and lives_by_advantage(recipe)
        if sampled(recipe) and several and recipe.ratio.choice.ratio() is None and not proximal(recipe):
            yield _repeated(recipe, node)


def _lagging(recipe: Recipe, node: Node) -> Diagnostic:
    schedule, lag = recipe.schedule, recipe.schedule.choice.lag()
    age = "any number of batches" if lag is None else "1 batch" if lag == 1 else f"{lag} batches"
    return clash(
        CODE, recipe, f"{said(node)} says that data is as fresh as the trainer, and {said(schedule)} makes "
        f"it up to {age} old.",
        (place(node, ASSERTS_FRESH), "asserts fresh data"), (schedule.span, f"up to {age} old"),
        why="The ratio is taken against the trainer's own snapshot, so nothing sees that older weights made "
            "the data: the gradient is biased.",
        fix=_leave_out(recipe, node) or "Correct for it "
            f"({names('distribution', Distribution, gives=MULTIPLIES_KAPPA)}), bound it ({_bounds(recipe)}) with a "
            "ratio over current / rollout, or sample and train in turn "
            f"({names('system', Schedule, gives=FRESH_DATA)}).")


def _leave_out(recipe: Recipe, node: Node) -> str:
    """What to do where a correction stands beside the assertion; nothing where none does."""
    others = [said(n) for n in recipe.distribution if n is not node and corrects(n)]
    return f"Leave {said(node)} out, and the correction to {' and '.join(others)}." if others else ""


def _repeated(recipe: Recipe, node: Node) -> Diagnostic:
    optim = recipe.settings.optim
    several = "updates_per_batch" if optim.updates_per_batch > 1 else "epochs"
    return clash(
        CODE, recipe, f"A batch gives {updates(recipe)} updates, and with {said(recipe.ratio)} on ratio "
        f"nothing accounts for the policy moving between them, though {said(node)} says that the data is its "
        "own.",
        (recipe.where(f"optim.{several}"), f"{updates(recipe)} updates on one batch"),
        (recipe.ratio.span, "no ratio"), (place(node, ASSERTS_FRESH), "asserts fresh data"),
        why="From the second update on the data is another policy's, and A·ℓ alone is a biased gradient of "
            "it.",
        fix=f"Write updates_per_batch: 1 (and epochs: 1), or a ratio over current / old "
            f"({fitting(recipe, 'ratio', Ratio, gives=RATIO)}), or hold the policy near `old` with a term on the gate.")


def _bounds(recipe: Recipe) -> str:
    never = None if cuts(recipe) else CUTS
    return names("distribution", Distribution, gives=BOUNDS_LAG, never_needs=never)
