"""Names in a recipe that stand for what comes with rldsl: judged without opening anything."""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.toy_models import PREFIX, toy_sizes
from rldsl.diagnostics import Diagnostic, RecipeError


def misnamed(recipe: Recipe) -> list[Diagnostic]:
    """Toy models and toy tasks that there are not, and a template that is not Jinja."""
    from rldsl.environments.tasks.named import misnamed as misnamed_tasks

    found = []
    for setting, spec in _models(recipe):
        try:
            toy_sizes(spec, recipe.where(setting))
        except RecipeError as error:
            found += error.diagnostics
    return [*found, *misnamed_tasks(recipe)]


def _models(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """(setting, name) of every toy model."""
    model = recipe.settings.model
    named = [("model.policy", model.policy), ("model.reference", model.reference)]
    named += [("model.teachers", t) for t in model.teachers]
    yield from ((setting, spec) for setting, spec in named if spec is not None and spec.startswith(PREFIX))
