"""Compare two recipes or plans: what changed, what it does, and whether a gain could be attributed."""

from __future__ import annotations

import argparse
from typing import Any

from .shared.output import add_format, emit
from .shared.target import split


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("diff", help=__doc__, description=__doc__)
    for name, says in (("old", "what is compared with"), ("new", "what is compared")):
        parser.add_argument(name, metavar="FILE[:NAME]", help=f"{says}: a recipe, or a plan (.json)")
    parser.add_argument("--profile", help="the profile to apply to both recipes")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the typed changes with what follows from them; 0 also where there are some."""
    from rldsl.compiler.difference import compare, to_json, to_text

    found = compare(_side(args.old, args.profile), _side(args.new, args.profile))
    return emit(args, to_text(found), to_json(found))


def _side(text: str, profile: str | None) -> Any:
    """One side as a canonical recipe."""
    from rldsl.compiler.canonical import canonical
    from rldsl.compiler.plan import read_plan
    from rldsl.compiler.resolve import resolve

    if text.endswith(".json"):
        return read_plan(text).recipe
    path, name = split(text)
    return canonical(resolve(path, name, profile=profile))
