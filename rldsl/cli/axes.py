"""List the vocabulary: every choice on every axis, or those of one axis."""

from __future__ import annotations

import argparse

from rldsl.axes import discover
from rldsl.diagnostics import RecipeError, at

from .output import add_format, emit


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("axes", help=__doc__, description=__doc__)
    parser.add_argument("axis", nargs="?", metavar="AXIS", help="one of " + ", ".join(discover.FAMILIES))
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints one line a choice: how it is called, and the first line of its description."""
    from rldsl.compiler.describe import signature, summary

    if args.axis is not None and args.axis not in discover.FAMILIES:
        from rldsl.diagnostics.suggest import closest

        near = closest(args.axis, discover.FAMILIES)
        raise RecipeError([at("RL201", f"there is no axis {args.axis}", None,
                              fix=f"did you mean {' or '.join(near)}?" if near else
                              "the axes are " + ", ".join(discover.FAMILIES))])
    shown = (args.axis,) if args.axis else discover.FAMILIES
    found = {axis: [discover.find(axis, name) for name in discover.names(axis)] for axis in shown}
    lines, payload = [], {}
    for axis, choices in found.items():
        calls = [signature(c) for c in choices]
        width = min(44, max(map(len, calls), default=0))
        lines += [axis, *(f"  {call:<{width}}  {summary(c)}" for call, c in zip(calls, choices, strict=True)), ""]
        payload[axis] = [{"name": c.called(), "signature": call, "summary": summary(c)}
                         for call, c in zip(calls, choices, strict=True)]
    return emit(args, "\n".join(lines).rstrip(), {"axes": payload})
