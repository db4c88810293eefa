"""From a recipe to the models that are asked: their folders, and those that are trained before the run."""

from __future__ import annotations

from pathlib import Path

from rldsl.backends.cluster.model_folder import Source, Start
from rldsl.backends.cluster.training.roles import reference, teacher
from rldsl.backends.local.judging.load_judges import load_judges
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.roles import INITIAL, POLICY, TEACHER, asked, judging, numbered
from rldsl.runtime.run import Observe

from .seat import SeatSpec, require_supported

TRAINED = "judges"
"""The folder, in the run's, of what training before the run has come to."""


def seat(plan: Plan, recipe: Recipe, root: Path, folder: Path, found: Source, warm: Start | None,
         observe: Observe) -> SeatSpec | None:
    """What each process holds that is asked in a run in `folder`; None where no model is asked.

    `warm` trains a teacher. Judges that the recipe trains first are trained here, once. RecipeError RL407 for a model
    that is missing, RL321 for a teacher with other tokens than the policy `found`, RL406 for one that the embedded
    backend does not compute.
    """
    if not judging(recipe):
        return None
    models, sources = asked(recipe), {}
    if POLICY in models:
        sources[POLICY] = found
    if INITIAL in models:
        sources[INITIAL] = reference(plan, recipe, root, folder, found)
    if TEACHER in models:
        name = numbered(TEACHER, len(dict.fromkeys(recipe.settings.model.teachers)))[0]
        sources[TEACHER] = teacher(plan, models[TEACHER], root, folder / name, found, warm)
    require_supported(sources)
    if recipe.settings.model.judge_warm_start:
        load_judges(plan, recipe, root, observe, folder / TRAINED)
    return SeatSpec(plan, root, folder / TRAINED, sources)
