"""Compile a recipe or a pipeline and train it, with a live view, tracking and a report."""

from __future__ import annotations

import argparse
import secrets
import shutil
import time
from pathlib import Path

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.stages import Pipeline
from rldsl.diagnostics import RecipeError

from .shared.output import add_format
from .shared.target import add_address, add_recipe, home, runnable


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("run", help=__doc__, description=__doc__)
    add_recipe(parser)
    parser.add_argument("--seed", type=int, help="the run's seed, as --set seed=N")
    parser.add_argument("--out", metavar="FOLDER", type=Path,
                        help="the run's folder, which must not exist (default: runs/<name>-<time> in the project)")
    add_address(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Trains; 0, 1 or 4 where the recipe or a resource is wrong, 3 where the run failed."""
    from rldsl.compiler.compile import compile_recipe
    from rldsl.compiler.plan import read_plan, write_plan
    from rldsl.compiler.settings import missing_for_run
    from rldsl.runtime.errors import RunError
    from rldsl.runtime.folder import PLAN, PROJECT

    from .shared.output import emit
    from .shared.pipeline import start
    from .shared.session import train, unwritable

    if args.seed is not None:
        args.sets = [*args.sets, f"seed={args.seed}"]
    target = runnable(args.file, args)
    root = home(target.file)
    if isinstance(target, Pipeline):
        return start(target, args.out or _folder(target.name, root), root, args)
    recipe = target
    if missing := missing_for_run(recipe.settings, recipe.span):
        raise RecipeError(missing)
    plan, warnings = compile_recipe(recipe, profile=args.profile, sets=args.sets)
    if warnings and args.format == "terminal":
        emit(args, diagnostics=warnings)
    folder = args.out or _folder(plan.name, root)
    try:
        written = write_plan(plan, root)
        folder.mkdir(parents=True)
        shutil.copyfile(written, folder / PLAN)
        (folder / PROJECT).write_text(str(root.resolve()), encoding="utf-8")
    except OSError as error:
        raise RunError(unwritable(folder, error)) from error
    try:
        return train(read_plan(folder / PLAN), folder, root, args, resume=False)
    except RecipeError as error:
        shutil.rmtree(folder)  # nothing has been trained
        raise _placed(error, recipe, root) from None


def _folder(name: str, root: Path) -> Path:
    return root / "runs" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def _placed(error: RecipeError, recipe: Recipe, root: Path) -> RecipeError:
    """The error with its places in the recipe, which a plan does not know, and with whatever else is missing."""
    from .shared.preflight import preflight

    found = preflight(recipe, root)
    same = {d.code for d in error.diagnostics} <= {d.code for d in found}
    return RecipeError(found) if same else error
