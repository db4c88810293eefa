"""Compare two recipes, plans or runs: what changed, what it does, and whether a gain could be attributed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .shared.output import add_format, emit
from .shared.target import home, split

TRACKED = "mlflow:"


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("diff", help=__doc__, description=__doc__)
    for name, says in (("old", "what is compared with"), ("new", "what is compared")):
        parser.add_argument(name, metavar=name.upper(), help=f"{says}: FILE[:NAME] for a recipe, a plan (.json), "
                            "the folder of a run, or mlflow:RUN for a tracked one")
    parser.add_argument("--profile", metavar="NAME", help="merge this profile into the recipes")
    parser.add_argument("--mlflow", metavar="URI", help="where tracked runs are (default: the project's mlflow.db)")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the typed changes with what follows from them; 0 also where there are some."""
    from rldsl.compiler.difference import compare, to_json, to_text

    found = compare(_side(args.old, args), _side(args.new, args))
    return emit(args, to_text(found), to_json(found))


def _side(target: str, args: argparse.Namespace) -> Mapping[str, Any]:
    """One side as a canonical recipe."""
    from rldsl.compiler.plan import read_plan

    if target.startswith(TRACKED):
        from rldsl.runtime.tracked_plan import tracked_plan
        from rldsl.runtime.tracking import default_uri

        return tracked_plan(target.removeprefix(TRACKED), args.mlflow or default_uri(home("here"))).recipe
    if target.endswith(".json"):
        return read_plan(Path(target)).recipe
    if Path(target).is_dir():
        return read_plan(Path(target) / "plan.json").recipe
    return _recipe(target, args.profile)


def _recipe(target: str, profile: str | None) -> Mapping[str, Any]:
    from rldsl.compiler.canonical import canonical
    from rldsl.compiler.resolve import resolve

    path, name = split(target)
    return canonical(resolve(path, name, profile=profile))
