"""List the vocabulary: every choice on every axis, or those of one axis."""

from __future__ import annotations

import argparse
import dataclasses

from rldsl.axes import discover
from rldsl.compiler.resolve.report import did_you_mean
from rldsl.diagnostics import RecipeError, at

from .shared.output import add_format, emit

WIDEST = 44


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("axes", help=__doc__, description=__doc__)
    parser.add_argument("axis", nargs="?", metavar="AXIS", help="one of " + ", ".join(discover.FAMILIES))
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints one line a choice: how it is called, and the first line of its description."""
    from rldsl.backends.local.capability import capability
    from rldsl.compiler.describe import describe

    if args.axis is not None and args.axis not in discover.FAMILIES:
        raise RecipeError([at("RL201", f"There is no axis `{args.axis}`.", None, why="A recipe has eight axes.",
                              fix=did_you_mean(args.axis, discover.FAMILIES) or
                              f"The axes are {', '.join(discover.FAMILIES)}.")])
    lines, payload = [], {}
    for axis in (args.axis,) if args.axis else discover.FAMILIES:
        found = [d for name in discover.names(axis) if (d := describe(axis, name))]
        width = min(WIDEST, max((len(d.call) for d in found), default=0))
        lines += [axis, *(f"  {d.call:<{width}}  {d.summary}" for d in found), ""]
        payload[axis] = [{"name": d.name, "call": d.call, "summary": d.summary,
                          "backends": {"local": dataclasses.asdict(capability(axis, d.name))}} for d in found]
    return emit(args, "\n".join(lines).rstrip(), {"axes": payload})
