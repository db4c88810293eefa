"""Evaluate the recipe's objective, advantages and gradients on given numbers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rldsl.diagnostics import RecipeError, at

from .output import add_format, emit


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("probe", help=__doc__, description=f"{__doc__} Float64, no model, no torch.")
    parser.add_argument("recipe", metavar="FILE[:NAME]", help="the recipe")
    parser.add_argument("batch", metavar="BATCH.json", help='{"responses": [{"prompt", "reward", "logp_current", …}]}; '
                        "- reads standard input")
    parser.add_argument("--profile", metavar="NAME", help="a profile of the recipe")
    parser.add_argument("--set", metavar="PATH=VALUE", action="append", default=[], help="change one value")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the result as JSON."""
    from rldsl.compiler.check import check
    from rldsl.compiler.objective import build
    from rldsl.compiler.resolve import resolve
    from rldsl.runtime.probe import probe, read_batch

    path, _, name = args.recipe.partition(":")
    recipe = resolve(path, name or None, profile=args.profile, sets=args.set)
    broken = [d for d in check(recipe) if d.severity == "error" and d.code.startswith("RL3")]
    if broken:
        raise RecipeError(broken)
    siblings = recipe.sampling[0].choice.siblings()
    result = probe(build(recipe), read_batch(_read(args.batch), args.batch), args.batch, siblings)
    return emit(args, json.dumps(result, indent=2, ensure_ascii=False), result)


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError([at("RL407", f"{path} cannot be read: {error}", None,
                              fix="give a JSON file in UTF-8")]) from None
