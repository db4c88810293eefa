"""Write the job file that runs a recipe on a cluster: Slurm, Kubernetes (KubeRay) or Ray Jobs."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from pathlib import Path

from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import RecipeError, at

from .shared.output import add_format, emit
from .shared.target import add_recipe, home, resolved, split

SCHEDULERS = ("slurm", "kubernetes", "ray")


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("launch", help=__doc__, description=__doc__)
    add_recipe(parser)
    parser.add_argument("--to", required=True, choices=SCHEDULERS, help="who hands out the machines")
    parser.add_argument("--with", dest="options", metavar="KEY=VALUE", action="append", default=[],
                        help="an option of the scheduler; what it takes is said where one is wrong")
    parser.add_argument("--out", metavar="FILE", type=Path, help="default: named after the recipe, in the project")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Compiles the recipe and writes the file; says how to hand it in."""
    from rldsl.backends.submit.jobs import TARGETS, job
    from rldsl.compiler.compile import compile_recipe
    from rldsl.compiler.explain_text import columns
    from rldsl.compiler.role_table import HEAD, role_table

    recipe = resolved(args.file, args)
    _, warnings = compile_recipe(recipe, profile=args.profile, sets=args.sets)
    root, target = home(recipe.file), TARGETS[args.to]
    path = Path(split(args.file)[0]).resolve()
    inside = str(path.relative_to(root.resolve())) if path.is_relative_to(root.resolve()) else str(path)
    text = job(recipe, inside, args.to, _options(args.options), profile=args.profile, sets=args.sets)
    _require_runnable(recipe)
    file = args.out or root / target.file.format(name=recipe.name)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecipeError([at("RL407", f"Cannot write {file}: {error.strerror}.", None,
                              fix="Choose another place with --out.")]) from error
    submit = target.submit.format(file=shlex.quote(str(file)))
    rows = role_table(recipe)
    table = "\n".join(columns([HEAD, *(row.cells for row in rows)]))
    return emit(args, f"{table}\nmade {file}\nnext: {submit}",
                {"job": {"file": str(file), "submit": submit}, "roles": [vars(row) for row in rows]}, warnings)


def _require_runnable(recipe: Recipe) -> None:
    """RecipeError RL202, RL406 for what `run` would refuse once the job has waited for its machines."""
    from rldsl.backends.choose import refuse
    from rldsl.compiler.settings import missing_for_run

    if missing := missing_for_run(recipe.settings, recipe.span):
        raise RecipeError(missing)
    refuse(recipe)


def _options(given: list[str]) -> dict[str, str]:
    """`key=value` words as a mapping. RecipeError RL205 for a word that is none."""
    pairs = [word.partition("=") for word in given]
    if wrong := [key for key, equals, _ in pairs if not equals]:
        raise RecipeError([at("RL205", f"--with {key} has no value.", None, fix=f"Write --with {key}=…")
                           for key in wrong])
    if twice := [key for key, times in Counter(key for key, _, _ in pairs).items() if times > 1]:
        raise RecipeError([at("RL205", f"--with {key} is given more than once.", None, fix="Keep one of them.")
                           for key in twice])
    return {key: value for key, _, value in pairs}
