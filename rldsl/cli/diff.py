"""Compare two recipes, plans or runs: what changed, what it does, and whether a gain could be attributed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rldsl.diagnostics import RecipeError, at

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
    from rldsl.compiler import diff_pipeline
    from rldsl.compiler.difference import compare, to_json, to_text
    from rldsl.compiler.stages import Pipeline

    old, new = _side(args.old, args), _side(args.new, args)
    if isinstance(old, Pipeline) and isinstance(new, Pipeline):
        changes = diff_pipeline.compare_pipelines(old, new)
        return emit(args, diff_pipeline.to_text(changes), diff_pipeline.to_json(changes))
    for target, side in ((args.old, old), (args.new, new)):
        if isinstance(side, Pipeline):
            raise RecipeError([at("RL201", f"`{target}` is a pipeline, and the other side is a recipe", side.span,
                                  "a pipeline", fix=f"name one of its stages: {split(target)[0]}:{side.name}.STAGE")])
    found = compare(old, new)
    return emit(args, to_text(found), to_json(found))


def _side(target: str, args: argparse.Namespace) -> Any:
    """One side: a canonical recipe, or a pipeline."""
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


def _recipe(target: str, profile: str | None) -> Any:
    from rldsl.compiler.canonical import canonical
    from rldsl.compiler.resolve import resolve_runnable
    from rldsl.compiler.stages import Pipeline

    path, name = split(target)
    found = resolve_runnable(path, name, profile=profile)
    return found if isinstance(found, Pipeline) else canonical(found)
