"""Opens what a recipe names outside itself: the model, the training data, the evaluation tasks, every prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rldsl.compiler.compile import resolved
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import STAGE, missing_for_run
from rldsl.diagnostics import Diagnostic, Label, RecipeError, at


def preflight(recipe: Recipe, root: Path) -> list[Diagnostic]:
    """What would stop a run before its first batch: missing settings, unreadable sources, prompts too long."""
    found = missing_for_run(recipe.settings, recipe.span)
    if found:
        return found
    tokenizer, context = _model(recipe, root, found)
    for place, spec, split in _tasks(recipe):
        task = _task(recipe, place, spec, split, root, found)
        if task is not None and tokenizer is not None:
            found += _lengths(recipe, place, task, tokenizer, context) or _stored(recipe, place, task, tokenizer)
    return found


def _stored(recipe: Recipe, place: str, task: Any, tokenizer: Any) -> list[Diagnostic]:
    """What is wrong with the responses that training data holds, if it holds any."""
    from rldsl.runtime.prompts import Prompts, with_stored

    sampler, data = recipe.sampling[0].choice, recipe.settings.data
    if place != "data.train" or sampler.stored() is None:
        return []
    prompts = Prompts(task, tokenizer.encode, range(len(task)), 0)
    try:
        with_stored(prompts, sampler.stored(), tokenizer.reply, sampler.max_tokens, data.too_long, task.name)
    except RecipeError as error:
        return list(error.diagnostics)
    return []


def _model(recipe: Recipe, root: Path, found: list[Diagnostic]) -> tuple[Any, int]:
    from rldsl.backends.local.load import load_policy

    try:
        policy, tokenizer = load_policy(recipe.settings.model.policy, resolved(recipe.settings)["dtype"], recipe.seed,
                                        root=root)
    except RecipeError as error:
        found += _placed(error, recipe, "model.policy")
        return None, 0
    return tokenizer, recipe.settings.model.context or policy.architecture.context


def _placed(error: RecipeError, recipe: Recipe, place: str, says: str = "") -> list[Diagnostic]:
    """What is wrong with something a setting names, at that setting."""
    span = recipe.where(place)
    return [replace(d, message=f"{says}{d.message}", labels=d.labels or (Label(span, primary=True),))
            for d in error.diagnostics]


def _tasks(recipe: Recipe) -> list[tuple[str, str, str]]:
    """(setting, task, split) for everything that prompts are taken from."""
    held_out = [("evaluate.tasks", t.name, "held_out") for t in recipe.settings.evaluate.tasks]
    train = recipe.settings.data.train
    written = [] if train.startswith(STAGE) else [("data.train", train, "train")]  # a stage has yet to write its own
    return [*written, *held_out]


def _task(recipe: Recipe, place: str, spec: str, split: str, root: Path, found: list[Diagnostic]) -> Any:
    from rldsl.backends.local.data import answer_column
    from rldsl.environments.tasks import Columns, load_task

    data = recipe.settings.data
    answer = answer_column(recipe) if place == "data.train" else data.answer
    columns = Columns(data.prompt, answer, data.template)
    try:
        return load_task(spec, split, seed=recipe.seed, columns=columns, root=root, span=recipe.where(place))
    except RecipeError as error:
        found += error.diagnostics
        return None


def _lengths(recipe: Recipe, place: str, task: Any, tokenizer: Any, context: int) -> list[Diagnostic]:
    """RL408 where prompts and answers together pass the context; what cannot be encoded is reported as it is."""
    limit = recipe.settings.model.max_prompt or context - recipe.sampling[0].choice.max_tokens
    most = len(task) if place == "data.train" else min(len(task), recipe.settings.evaluate.problems)
    long = 0
    for problem in (task[i] for i in range(most)):
        try:
            long += len(tokenizer.encode(problem.prompt)) > limit
        except RecipeError as error:
            return _placed(error, recipe, place, f"In {problem.id}: ")
    if not long or recipe.settings.data.too_long == "drop":
        return []
    return [at("RL408", f"{long} of {most} prompts of {task.name} are longer than {limit} tokens.", recipe.where(place),
               why="A prompt is never cut: what is lost at either end changes the question.",
               fix="Write data { too_long: drop }, raise model.max_prompt, or lower sampling's max_tokens.")]
