"""Go on with a run that was killed or failed from its newest complete checkpoint; a pipeline within its stage."""

from __future__ import annotations

import argparse
from pathlib import Path

from .shared.output import add_format
from .shared.target import add_address


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("resume", help=__doc__, description=__doc__)
    parser.add_argument("folder", metavar="RUN", type=Path, help="the run's folder, as `rldsl run` named it")
    parser.add_argument("--set", dest="sets", metavar="PATH=VALUE", action="append", default=[],
                        help="change where it runs: cluster.tensor=2, or system with another placement; a pipeline's "
                             "stage by itself")
    add_address(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Trains the rest; 0, or 3 where the run cannot be resumed or fails again."""
    from rldsl.compiler.plan import read_plan, write_text
    from rldsl.compiler.resolve.relaid import relaid
    from rldsl.diagnostics import Diagnostic, RecipeError
    from rldsl.experiments.pipeline import is_pipeline
    from rldsl.runtime.errors import RunError
    from rldsl.runtime.folder import PLAN, PROJECT
    from rldsl.runtime.journal import FILE as JOURNAL

    from .shared.pipeline import train as train_pipeline
    from .shared.session import train

    folder: Path = args.folder
    whole = is_pipeline(folder)
    for piece in (PROJECT,) if whole else (PLAN, PROJECT):
        if not (folder / piece).is_file():
            raise RunError(Diagnostic("RL609", f"{folder} is no run: it has no {piece}",
                                      why="a run is resumed from its own plan",
                                      fix="give the folder that `rldsl run` named"))
    root = Path((folder / PROJECT).read_text(encoding="utf-8"))
    if not root.is_dir():
        raise RunError(Diagnostic("RL609", f"the project of {folder} was in {root}, which is no folder now",
                                  why="its data, its own scorers and its tracking are looked for there",
                                  fix=f"move the project back, or write where it is now into {folder / PROJECT}"))
    if whole:
        _refuse(args)
        return train_pipeline(folder, root, args)
    begun = (folder / JOURNAL).exists()  # a sweep prepares folders in which nothing has happened yet
    plan = read_plan(folder / PLAN)
    if not args.sets:
        return train(plan, folder, root, args, resume=begun)
    new = relaid(plan, args.sets)
    write_text(new, folder / PLAN)
    try:
        return train(new, folder, root, args, resume=begun)
    except (RecipeError, RunError):
        write_text(plan, folder / PLAN)  # nothing was trained in the new place
        raise


def _refuse(args: argparse.Namespace) -> None:
    """RunError RL609 for another layout of a whole pipeline."""
    from rldsl.diagnostics import Diagnostic
    from rldsl.runtime.errors import RunError

    if args.sets:
        raise RunError(Diagnostic(
            "RL609", f"{args.folder} is a pipeline, and --set changes one run",
            why="each stage has a layout of its own",
            fix=f"resume the stage alone, `rldsl resume {args.folder / 'STAGE'} --set …`, and then the pipeline"))
