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
    add_address(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Trains the rest; 0, or 3 where the run cannot be resumed or fails again."""
    from rldsl.compiler.plan import read_plan
    from rldsl.diagnostics import Diagnostic
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
        return train_pipeline(folder, root, args)
    begun = (folder / JOURNAL).exists()  # a sweep prepares folders in which nothing has happened yet
    return train(read_plan(folder / PLAN), folder, root, args, resume=begun)
