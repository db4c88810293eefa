"""`FILE[:NAME]` with `--profile` and `--set`: how every command that works on a recipe is told which one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve import resolve, resolve_runnable
from rldsl.compiler.resolve.load import library_root, project_root, shown
from rldsl.compiler.stages import Pipeline

SKIPPED = {".rldsl", "runs", "mlruns", "node_modules", "__pycache__"}


def add_recipe(parser: ArgumentParser, name: str = "file") -> None:
    """The argument that names a recipe, and the options that change it."""
    parser.add_argument(name, metavar="FILE[:NAME]", help="a recipe file; NAME picks one of several recipes in it")
    add_changes(parser)


def add_changes(parser: ArgumentParser) -> None:
    """`--profile` and `--set`."""
    parser.add_argument("--profile", metavar="NAME", help="merge this profile of the recipe")
    parser.add_argument("--set", dest="sets", metavar="PATH=VALUE", action="append", default=[],
                        help="change one value, in the language's own notation; may be repeated")


def add_address(parser: ArgumentParser) -> None:
    """`--address`, for commands that train."""
    parser.add_argument("--address", metavar="HOST:PORT",
                        help="the Ray cluster to join; without it a recipe that asks for one starts it here")


def split(target: str) -> tuple[str, str | None]:
    """`a.rl:b` → ("a.rl", "b"), `a.rl:p.x` → ("a.rl", "p.x"), a stage of a pipeline; a path alone has no name."""
    path, colon, name = target.rpartition(":")
    named = colon and all(part.isidentifier() for part in name.split("."))
    return (path, name) if named and name.count(".") < 2 else (target, None)


def resolved(target: str, args: Namespace) -> Recipe:
    """The recipe that a command was given, with its changes. RecipeError with everything wrong in it."""
    path, name = split(target)
    return resolve(path, name, profile=args.profile, sets=args.sets)


def runnable(target: str, args: Namespace) -> Recipe | Pipeline:
    """The recipe or pipeline that a command was given, with its changes. RecipeError with everything wrong in it."""
    path, name = split(target)
    return resolve_runnable(path, name, profile=args.profile, sets=args.sets)


def home(path: str) -> Path:
    """The root of the project that plans and runs of a file are kept in; for a shipped recipe, the one we are in."""
    file = Path(path).resolve()
    return project_root(Path.cwd() / file.name if file.is_relative_to(library_root().resolve()) else file)


def recipe_files() -> list[str]:
    """Every `.rl` file of the project around the working directory, in order of path."""
    root = project_root(Path.cwd() / "here")
    files = [f for f in root.rglob("*.rl") if not any(p in SKIPPED or p.startswith(".")
                                                      for p in f.relative_to(root).parts)]
    return [shown(f) for f in sorted(files)]
