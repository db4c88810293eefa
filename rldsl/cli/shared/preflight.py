"""Opens what a recipe names outside itself: the model, the training data, the evaluation tasks, every prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rldsl.compiler.compile import resolved
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import missing_for_run
from rldsl.diagnostics import Diagnostic, Label, RecipeError


def preflight(recipe: Recipe, root: Path) -> list[Diagnostic]:
    """What would stop a run before its first batch: missing settings, unreadable sources, prompts too long."""
    from rldsl.backends.local.data import fitting
    from rldsl.environments.tasks.named import named, problems

    found = missing_for_run(recipe.settings, recipe.span)
    if found:
        return found
    model = _model(recipe, root, found)
    for place in named(recipe):
        try:
            task = problems(recipe, place, root, recipe.where(place.setting))
            if model is not None:
                fitting(recipe, place, task, model)
        except RecipeError as error:
            found += _placed(error, recipe, place.setting)
    return found


def _model(recipe: Recipe, root: Path, found: list[Diagnostic]) -> Any:
    from rldsl.backends.choose import reader

    try:
        return reader(recipe, resolved(recipe.settings)["dtype"], root)
    except RecipeError as error:
        found += _placed(error, recipe, "model.policy")
        return None


def _placed(error: RecipeError, recipe: Recipe, setting: str) -> list[Diagnostic]:
    """What is wrong with something a setting names, at that setting."""
    span = recipe.where(setting)
    return [replace(d, labels=d.labels or (Label(span, primary=True),)) for d in error.diagnostics]
