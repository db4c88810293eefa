"""Evaluate the recipe's objective, advantages and gradients on given numbers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rldsl.diagnostics import RecipeError, at

from .shared.output import add_format, emit
from .shared.target import add_recipe, resolved

STANDARD_INPUT = "-"


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("probe", help=__doc__, description=f"{__doc__} In float64, without a model.")
    add_recipe(parser)
    parser.add_argument("batch", metavar="BATCH.json", help='{"responses": [{"prompt", "reward", "logp_current", …}]}; '
                        "- reads standard input")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Prints objective, loss, terms and one record per response as JSON."""
    from rldsl.compiler.check import check
    from rldsl.compiler.objective import build
    from rldsl.runtime.probe import probe, read_batch

    recipe = resolved(args.file, args)
    clashes = [d for d in check(recipe) if d.severity == "error" and d.code.startswith("RL3")]
    if clashes:
        raise RecipeError(clashes)
    name = "standard input" if args.batch == STANDARD_INPUT else args.batch
    result = probe(build(recipe), read_batch(_read(args.batch), name), name, recipe.sampling[0].choice.siblings())
    return emit(args, json.dumps(result, indent=2, ensure_ascii=False), result)


def _read(path: str) -> str:
    if path == STANDARD_INPUT:
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RecipeError([at("RL407", f"{path} cannot be read: {reason}", None,
                              fix="give a JSON file in UTF-8")]) from None
