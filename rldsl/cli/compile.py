"""Check recipes completely and write their plans; without files, every recipe of the project."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.pipeline import PipelinePlan
from rldsl.compiler.plan import Plan, write_plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve import resolve_file, resolve_runnable
from rldsl.compiler.resolve.load import shown
from rldsl.compiler.stages import Pipeline
from rldsl.diagnostics import Diagnostic, RecipeError, at

from .shared.names import misnamed
from .shared.output import add_format, emit
from .shared.target import add_changes, home, recipe_files, split


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("compile", help=__doc__, description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE[:NAME]", help="default: every .rl file of the project")
    add_changes(parser)
    parser.add_argument("--preflight", action="store_true",
                        help="also open the model, the data and the tasks that the recipes name")
    add_format(parser, "concise", "sarif")


def run(args: argparse.Namespace) -> int:
    """Compiles what it can, reports everything that is wrong, and says where the plans are."""
    found: list[Diagnostic] = []
    plans: list[tuple[Plan | PipelinePlan, Path]] = []
    for target in args.files or _project():
        for each in _targets(target, args, found):
            try:
                written = _pipeline if isinstance(each, Pipeline) else _compile
                plans.append(written(each, args, found))
            except RecipeError as error:
                found += error.diagnostics
    found = list(dict.fromkeys(found))
    width = max((len(f"{plan.file}:{plan.name}") for plan, _ in plans), default=0)
    lines = [f"{plan.file + ':' + plan.name:<{width}}  →  {shown(path)}" for plan, path in plans]
    payload = {"plans": [{"name": plan.name, "file": plan.file, "plan": str(path), **_identity(plan)}
                         for plan, path in plans]}
    return emit(args, "\n".join(lines), payload, found)


def _identity(plan: Plan | PipelinePlan) -> dict[str, Any]:
    if isinstance(plan, Plan):
        return {"fingerprints": dict(plan.fingerprints)}
    return {"fingerprints": {"pipeline": plan.fingerprint},
            "stages": [{"name": s.name, "fingerprints": dict(s.plan.fingerprints)} for s in plan.stages]}


def _pipeline(pipeline: Pipeline, args: argparse.Namespace, found: list[Diagnostic]) -> tuple[PipelinePlan, Path]:
    """The plan of a pipeline, written; warnings go to `found`. RecipeError where a stage is wrong."""
    from .shared.pipeline import compiled

    plan, path, warnings = compiled(pipeline, home(pipeline.file), args, run=False, preflight=args.preflight)
    found += warnings
    return plan, path


def _compile(recipe: Recipe, args: argparse.Namespace, found: list[Diagnostic]) -> tuple[Plan, Path]:
    """One plan, written; warnings go to `found`. RecipeError where the recipe is wrong."""
    plan, warnings = compile_recipe(recipe, profile=args.profile, sets=args.sets)
    root, wrong = home(recipe.file), misnamed(recipe)
    if args.preflight:
        from .shared.preflight import preflight

        wrong += [d for d in preflight(recipe, root) if d not in wrong]
    if wrong:
        raise RecipeError([*warnings, *wrong])
    found += warnings
    return plan, _write(plan, root)


def _project() -> list[str]:
    files = recipe_files()
    if not files:
        raise RecipeError([at("RL206", "There is no .rl file in this project.", None,
                              fix="Name a file, or start a project with `rldsl new FOLDER`.")])
    return files


def _targets(target: str, args: argparse.Namespace, found: list[Diagnostic]) -> Iterator[Recipe | Pipeline]:
    """The recipes and pipelines of a target; what is wrong with them goes to `found`."""
    path, name = split(target)
    try:
        if name or args.profile or args.sets:
            yield resolve_runnable(path, name, profile=args.profile, sets=args.sets)
        else:
            recipes, pipelines = resolve_file(path)
            yield from (*recipes, *pipelines)
    except RecipeError as error:
        found += error.diagnostics


def _write(plan: Plan, root: Path) -> Path:
    try:
        return write_plan(plan, root)
    except OSError as error:
        raise RecipeError([at("RL407", f"Cannot write a plan below {root}: {error.strerror}.", None,
                              why="A run reads its plan and nothing else.",
                              fix="Make the folder writable, or copy the project.")]) from error
