"""Compare two recipes, plans or runs: what changed, what it does, what a gain could come from, and runs' numbers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rldsl.diagnostics import RecipeError, at

from .shared.output import add_format, emit
from .shared.target import home, split

if TYPE_CHECKING:
    from rldsl.compiler.pipeline import PipelinePlan
    from rldsl.compiler.stages import Pipeline
    from rldsl.experiments.side_by_side import Side

TRACKED = "mlflow:"


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("diff", help=__doc__, description=__doc__)
    for name, says in (("old", "what is compared with"), ("new", "what is compared")):
        parser.add_argument(name, metavar=name.upper(), help=f"{says}: FILE[:NAME] for a recipe, a plan (.json), a run "
                            "by its folder, name, MLflow id or experiment, or mlflow:RUN for one that is only tracked")
    parser.add_argument("--profile", metavar="NAME", help="merge this profile into the recipes")
    parser.add_argument("--mlflow", metavar="URI", help="where tracked runs are (default: the project's mlflow.db)")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the typed changes with what follows from them; 0 also where there are some."""
    from rldsl.compiler import diff_pipeline, difference
    from rldsl.experiments import side_by_side

    old, new = _side(args.old, args), _side(args.new, args)
    if not isinstance(old, side_by_side.Side) and not isinstance(new, side_by_side.Side):
        changes = diff_pipeline.compare_pipelines(old, new)
        return emit(args, diff_pipeline.to_text(changes), diff_pipeline.to_json(changes))
    for target, side in ((args.old, old), (args.new, new)):
        if not isinstance(side, side_by_side.Side):
            stage = f"{target}/STAGE" if Path(target).is_dir() else f"{split(target)[0]}:{side.name}.STAGE"
            raise RecipeError([at("RL201", f"`{target}` is a pipeline, and the other side is a recipe",
                                  getattr(side, "span", None), "a pipeline", fix=f"name one of its stages: {stage}")])
    found = difference.compare(old.recipe, new.recipe)
    numbers = side_by_side.to_text(old, new)
    text = difference.to_text(found) + (f"\n\n{numbers}" if numbers else "")
    beside = side_by_side.to_json(old, new) if numbers else {}
    return emit(args, text, {**difference.to_json(found), **beside})


def _side(target: str, args: argparse.Namespace) -> Side | Pipeline | PipelinePlan:
    """One side as a canonical recipe, of a run with its metrics; or a pipeline, from its file, plan or run."""
    from rldsl.compiler.pipeline import FOLDER, read_pipeline
    from rldsl.compiler.plan import read_plan
    from rldsl.experiments.pipeline import is_pipeline, stages_of
    from rldsl.experiments.side_by_side import Side, of_folder

    if target.startswith(TRACKED):
        return _tracked(target, args)
    if is_pipeline(Path(target)):
        return stages_of(Path(target))
    if target.endswith(".json") and Path(target).parent.name == FOLDER.name:
        return read_pipeline(Path(target))
    if target.endswith(".json"):
        return Side(target, read_plan(Path(target)).recipe)
    if Path(target).is_dir():
        return of_folder(Path(target), read_plan(Path(target) / "plan.json").recipe)
    return _run(target) or _recipe(target, args.profile)


def _tracked(target: str, args: argparse.Namespace) -> Side:
    from rldsl.experiments.side_by_side import Side
    from rldsl.runtime.tracked_plan import tracked_run
    from rldsl.runtime.tracking import default_uri

    found = tracked_run(target.removeprefix(TRACKED), args.mlflow or default_uri(home("here")))
    return Side(target, found.plan.recipe, found.status, found.metrics)


def _run(target: str) -> Side | None:
    """A run of the project by one of its names, where this is no path of a recipe."""
    from rldsl.diagnostics.suggest import did_you_mean
    from rldsl.experiments.registry import entries, run_named
    from rldsl.experiments.side_by_side import of_folder

    path = split(target)[0]
    if Path(path).exists() or path.endswith(".rl") or "/" in target:
        return None
    entry = run_named(home("here"), target)
    if entry is None:
        known = [e.folder.name for e in entries(home("here"))]
        raise RecipeError([at("RL407", f"there is no file and no run `{target}`", None,
                              why="a side is a recipe's file, a plan, or a run by its folder, name, MLflow id or "
                                  "experiment", fix=did_you_mean(target, known) or "`rldsl runs` lists the runs")])
    return of_folder(entry.folder, entry.recipe)


def _recipe(target: str, profile: str | None) -> Side | Pipeline:
    from rldsl.compiler.canonical import canonical
    from rldsl.compiler.resolve import resolve_runnable
    from rldsl.compiler.stages import Pipeline
    from rldsl.experiments.side_by_side import Side

    path, name = split(target)
    found = resolve_runnable(path, name, profile=profile)
    return found if isinstance(found, Pipeline) else Side(target, canonical(found))
