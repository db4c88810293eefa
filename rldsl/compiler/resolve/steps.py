"""The recipes of a file, resolved: all independent errors are raised together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rldsl.compiler.recipe import Recipe
from rldsl.grammar import tree

from .ablation import options
from .project import raise_found, read_project, typed_recipe
from .scope import Definition, ancestors, pick, reference, references
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


def resolve_all(path: str, *, root: Path | None = None) -> list[Recipe]:
    """Every recipe that a file defines; their profiles are checked as well.

    Raises: RecipeError as `resolve` does.
    """
    project = read_project(path, (), root)
    file = next(iter(project.loaded.files.values()))
    found = []
    if not any(isinstance(s, tree.Recipe | Definition) for s in file.statements) and not project.report.found:
        pick(None, file, project.scope, project.report)  # says that there is none
    for statement in file.statements:
        if isinstance(statement, tree.Recipe):
            found.append(typed_recipe(statement, project, None, ()))
            for item in statement.body:
                if isinstance(item, tree.Profile):
                    typed_recipe(statement, project, item.name, ())
        elif isinstance(statement, Definition):
            known = [reference(name, project.scope, project.report) for name in references(statement)]
            if isinstance(statement, tree.Sweep) and known[0] is not None:
                Variants(project, known[0]).axes(statement)
            elif isinstance(statement, tree.Ablate):
                options(statement, project.scopes[statement.span.file], project.report)
    raise_found(project)
    return found


def profiles(path: str, name: str | None = None, *, root: Path | None = None) -> tuple[str, ...]:
    """The names of the profiles of a recipe, its own and those it inherits."""
    project = read_project(path, (), root)
    recipe = pick(name, next(iter(project.loaded.files.values())), project.scope, project.report)
    line = ancestors(recipe, project.scope, project.report)[0] if recipe else []
    raise_found(project)
    return tuple(dict.fromkeys(p.name for r in line for p in r.body if isinstance(p, tree.Profile)))
