"""The teachers of a run: loaded, frozen, and assigned to the rows of the data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.training.teachers import Teachers
from rldsl.compiler.graph import TEACHER_WEIGHTS
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import Model as Settings
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.prompts import Prompts
from rldsl.runtime.run import Observe

from .data import Model, examples
from .stage import named_policy
from .warm_start import warm_start

SHOWN = 5
"""Rows that a message about many wrong rows names."""


def load_teachers(plan: Plan, recipe: Recipe, root: Path, folder: Path, model: Model, data: Prompts,
                  observe: Observe) -> Teachers | None:
    """The frozen teachers, where a formula reads one. RecipeError RL321 where the tokens of one are not the policy's,
    RL407 where a row of the data names none of them. Equal names are one model."""
    if not plan.graph.readers(TEACHER_WEIGHTS):
        return None
    settings = recipe.settings.model
    of = teaching(settings, data)
    loaded: dict[str, Policy] = {}
    for spec in settings.teachers:
        if spec not in loaded:
            observe("doing", {"node": f"load the teacher {spec}", "batch": 0})
            loaded[spec] = _load(plan, recipe, root, folder, model, spec, observe)
    return Teachers(tuple(loaded[spec] for spec in settings.teachers), of)


def _load(plan: Plan, recipe: Recipe, root: Path, folder: Path, model: Model, spec: str,
          observe: Observe) -> Policy:
    teacher, tokenizer = named_policy(spec, plan, root, folder)
    if (tokenizer.size, tokenizer.eos) != (model.tokenizer.size, model.tokenizer.eos):
        raise RecipeError([Diagnostic(
            "RL321", f"the teacher has {tokenizer.size} token ids and ends {sorted(tokenizer.eos)}, the policy "
            f"{model.tokenizer.size} and {sorted(model.tokenizer.eos)}",
            why="a token id is another text for each of them, so their log-probs are of different events",
            fix="choose a teacher of the same model family")])
    if recipe.settings.model.teacher_warm_start:
        observe("doing", {"node": "supervised training of the teacher", "batch": 0})
        warm_start(teacher, examples(recipe, root, model), recipe.settings.model.teacher_warm_start)
    return teacher.requires_grad_(False)


def teaching(settings: Settings, data: Prompts) -> Callable[[int], int] | None:
    """For each row of the data the position of the teacher that its column names; None where all of them score it.
    RecipeError RL407 where a row names none of them."""
    if settings.teaching in (None, "mean"):
        return None
    column, teachers = settings.teaching, settings.teachers
    found = [data.problem(row).metadata.get(column) for row in range(len(data))]
    wrong = [f"row {row + 1}: {name!r:.40}" for row, name in enumerate(found) if name not in teachers]
    if wrong:
        raise RecipeError([Diagnostic(
            "RL407", f"{len(wrong)} of {len(found)} rows name no teacher in column '{column}'",
            why="; ".join(wrong[:SHOWN]), fix=f"write one of {', '.join(teachers)} in it, or teaching: mean")])
    return [teachers.index(name) for name in found].__getitem__
