"""The recipes of a file, resolved: all independent errors are raised together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.stages import Pipeline
from rldsl.grammar import tree

from .ablation import options
from .pipelines import called, typed_pipeline
from .project import Project, raise_found, read_project, typed_recipe
from .report import did_you_mean
from .scope import Definition, ancestors, pick, pick_runnable, reference, references
from .variants import Variants


def resolve(path: str, name: str | None = None, *, profile: str | None = None, sets: Sequence[str] = (),
            root: Path | None = None) -> Recipe:
    """The recipe `name` of a file, or its only one: merged with its ancestors, profile and `--set`, and typed.

    Raises: RecipeError with every independent error of the file and what it imports, in file order.
    """
    project = read_project(path, sets, root)
    file = next(iter(project.loaded.files.values()))
    recipe = pick(name, file, project.scope, project.report)
    made = recipe and typed_recipe(recipe, project, profile, sets)
    raise_found(project)
    return made


def resolve_runnable(path: str, name: str | None = None, *, profile: str | None = None, sets: Sequence[str] = (),
                     root: Path | None = None) -> Recipe | Pipeline:
    """The recipe or pipeline `name` of a file, or its only one; `PIPELINE.STAGE` is one stage's recipe.

    Raises: RecipeError as `resolve` does.
    """
    project = read_project(path, sets, root)
    file = next(iter(project.loaded.files.values()))
    whole, _, stage = (name or "").partition(".")
    target = pick_runnable(whole or None, file, project.scope, project.report)
    made: Recipe | Pipeline | None = None
    if isinstance(target, tree.Pipeline):
        made = typed_pipeline(target, project, profile, sets)
    elif target is not None and not stage:
        made = typed_recipe(target, project, profile, sets)
    if stage and target is not None:
        made = _stage_of(target, made, stage, project)
    raise_found(project)
    return made


def _stage_of(target: tree.Recipe | tree.Pipeline, made: Pipeline | None, name: str, project: Project) -> Recipe | None:
    """One stage of a pipeline; RL201 where there is none of that name."""
    names = [s.name for s in target.stages] if isinstance(target, tree.Pipeline) else []
    if name not in names:
        project.report.add("RL201", f"`{target.name}` has no stage `{name}`", target.name_span, "no such stage",
                           fix=did_you_mean(name, names) or "name a stage of a pipeline as PIPELINE.STAGE")
        return None
    found = made and made.stage(name)
    return found and found.recipe


def resolve_all(path: str, *, root: Path | None = None) -> list[Recipe]:
    """Every recipe that a file defines, and every stage of its pipelines; the recipes' profiles are checked as well.

    Raises: RecipeError as `resolve` does.
    """
    recipes, pipelines = resolve_file(path, root=root)
    return [*recipes, *(stage.recipe for pipeline in pipelines for stage in pipeline.stages)]


def resolve_file(path: str, *, root: Path | None = None) -> tuple[list[Recipe], list[Pipeline]]:
    """Every recipe and every pipeline that a file defines; the recipes' profiles are checked as well.

    Raises: RecipeError as `resolve` does.
    """
    project = read_project(path, (), root)
    file = next(iter(project.loaded.files.values()))
    found, pipelines = [], []
    if not any(isinstance(s, tree.Recipe | Definition) for s in file.statements) and not project.report.found:
        pick(None, file, project.scope, project.report)  # says that there is none
    for statement in file.statements:
        if isinstance(statement, tree.Recipe):
            found.append(typed_recipe(statement, project, None, ()))
            for item in statement.body:
                if isinstance(item, tree.Profile):
                    typed_recipe(statement, project, item.name, ())
        elif isinstance(statement, tree.Pipeline):
            pipelines.append(typed_pipeline(statement, project, None, ()))
        elif isinstance(statement, Definition):
            known = [reference(name, project.scope, project.report) for name in references(statement)]
            if isinstance(statement, tree.Sweep) and known[0] is not None:
                Variants(project, known[0]).axes(statement)
            elif isinstance(statement, tree.Ablate):
                options(statement, project.scopes[statement.span.file], project.report)
    raise_found(project)
    return found, pipelines


def profiles(path: str, name: str | None = None, *, root: Path | None = None) -> tuple[str, ...]:
    """The names of a recipe's profiles, its own and inherited ones; of a pipeline, those that all its stages have."""
    project = read_project(path, (), root)
    target = pick_runnable(name, next(iter(project.loaded.files.values())), project.scope, project.report)
    recipes = [target] if isinstance(target, tree.Recipe) else \
        [reference(called(stage), project.scope, project.report) for stage in target.stages] if target else []
    lines = [ancestors(recipe, project.scope, project.report)[0] for recipe in recipes if recipe]
    raise_found(project)
    named = [[p.name for r in line for p in r.body if isinstance(p, tree.Profile)] for line in lines]
    return tuple(dict.fromkeys(name for names in named for name in names if all(name in other for other in named)))
