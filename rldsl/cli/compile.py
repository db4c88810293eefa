"""Check recipes completely and write their plans; without files, every recipe of the project."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import Plan, write_plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve import resolve, resolve_all
from rldsl.compiler.resolve.load import shown
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
    plans: list[tuple[Plan, Path]] = []
    for target in args.files or _project():
        for recipe in _recipes(target, args, found):
            try:
                plans.append(_compile(recipe, args, found))
            except RecipeError as error:
                found += error.diagnostics
    found = list(dict.fromkeys(found))
    width = max((len(f"{plan.file}:{plan.name}") for plan, _ in plans), default=0)
    lines = [f"{plan.file + ':' + plan.name:<{width}}  →  {shown(path)}" for plan, path in plans]
    payload = {"plans": [{"name": plan.name, "file": plan.file, "plan": str(path), "fingerprints":
                          dict(plan.fingerprints)} for plan, path in plans]}
    return emit(args, "\n".join(lines), payload, found)


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


def _recipes(target: str, args: argparse.Namespace, found: list[Diagnostic]) -> Iterator[Recipe]:
    """The recipes of a target; what is wrong with them goes to `found`."""
    path, name = split(target)
    try:
        if name or args.profile or args.sets:
            yield resolve(path, name, profile=args.profile, sets=args.sets)
        else:
            yield from resolve_all(path)
    except RecipeError as error:
        found += error.diagnostics


def _write(plan: Plan, root: Path) -> Path:
    try:
        return write_plan(plan, root)
    except OSError as error:
        raise RecipeError([at("RL407", f"Cannot write a plan below {root}: {error.strerror}.", None,
                              why="A run reads its plan and nothing else.",
                              fix="Make the folder writable, or copy the project.")]) from error
