"""Train a recipe at every point of a sweep: all compiled first, nothing finished run twice, resumable."""

from __future__ import annotations

import argparse

from .shared.experiment import add_running, frozen_below, perform
from .shared.output import add_format
from .shared.target import add_changes, home, split


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("sweep", help=__doc__, description=__doc__)
    parser.add_argument("file", metavar="FILE[:NAME]", help="a recipe file; NAME picks one of several sweeps in it")
    add_changes(parser)
    add_running(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Expands the sweep and runs it; 0, 1 where it is wrong, 3 where a run failed, 4 without a tracking server."""
    from rldsl.experiments.sweep import expand_sweep

    path, name = split(args.file)
    root = home(path)
    with frozen_below(root):
        expanded = expand_sweep(path, name, root, metric=args.metric, profile=args.profile, sets=args.sets,
                                seeds=args.seeds)
    return perform(expanded.expansion, expanded.warnings, root, args)
