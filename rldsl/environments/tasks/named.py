"""Where a recipe names problems, and how their rows are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rldsl.axes.base import Source
from rldsl.compiler.recipe import Node, Recipe, feedback_nodes
from rldsl.compiler.settings import STAGE
from rldsl.diagnostics import Diagnostic, RecipeError, Span, at

from .load import check_name, load_task, reader_of
from .problem import Split, Task
from .rows import Columns

OWN = "rldsl.environments.verifiers:task"
"""The scorer that is the task's own."""


def answer_column(recipe: Recipe) -> str | None:
    """The column of the training data's answers; None where the rows hold their responses and nothing is scored."""
    stored = recipe.sampling[0].choice.stored()
    return recipe.settings.data.answer if stored is None or _sources(recipe) or not stored.responses else None


def _sources(recipe: Recipe) -> list[Node]:
    return [n for n in feedback_nodes(recipe.feedback) if isinstance(n.choice, Source)]


@dataclass(frozen=True)
class Named:
    """Where a recipe names problems: the setting, the task, its split, and the most that are taken from it."""

    setting: str
    spec: str
    split: Split
    most: int | None = None


def named(recipe: Recipe) -> tuple[Named, ...]:
    """Everything that prompts are taken from: what is trained on, then the held-out tasks. What a stage of a pipeline
    has yet to write is not there."""
    data, evaluate = recipe.settings.data, recipe.settings.evaluate
    held_out = (Named("evaluate.tasks", t.name, "held_out", evaluate.problems) for t in evaluate.tasks)
    written = data.train is not None and data.train.startswith(STAGE)
    return (*(() if written else (Named("data.train", data.train, "train"),)), *held_out)


def columns(recipe: Recipe, place: Named) -> Columns:
    """The columns that its rows are read by."""
    data = recipe.settings.data
    return Columns(data.prompt, answer_column(recipe) if place.split == "train" else data.answer, data.template)


def problems(recipe: Recipe, place: Named, root: Path, span: Span | None = None) -> Task:
    """What stands there. RecipeError RL407, at `span`, where it cannot be read; RL304 where it lacks a scorer."""
    task = load_task(place.spec, place.split, seed=recipe.seed, columns=columns(recipe, place), root=root, span=span)
    if not task.own_scorer and any(s.choice.scorer().function == OWN for s in _sources(recipe)):
        raise RecipeError([at("RL304", f"{place.spec} brings no scorer of its own, and the feedback asks for one", span,
                              "no scorer of its own", why="every response would be without a score",
                              fix="compare with the reference answers instead: exact, numeric, math, json or regex")])
    return task


def misnamed(recipe: Recipe) -> list[Diagnostic]:
    """A template that is not Jinja, or toy tasks that there are not: what is wrong without opening anything."""
    places = [p for p in named(recipe) if p.spec is not None]
    try:
        reader_of(columns(recipe, Named("data.train", "", "train")), recipe.where("data.template"))
    except RecipeError as error:
        return list(error.diagnostics)
    found: list[Diagnostic] = []
    for place in places:
        try:
            check_name(place.spec, place.split, columns(recipe, place), recipe.where(place.setting))
        except RecipeError as error:
            found += error.diagnostics
    return found
