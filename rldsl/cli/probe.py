<<<<<<< HEAD
"""Evaluate the recipe's objective, advantages and gradients on given numbers."""
=======
"""The recipe's objective, advantages and gradients on given numbers: `probe FILE[:NAME] BATCH.json`."""
>>>>>>> rules

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

<<<<<<< HEAD
=======
from rldsl.compiler.objective import build
>>>>>>> rules
from rldsl.diagnostics import RecipeError, at
from rldsl.runtime.probe import probe, read_batch

<<<<<<< HEAD
from .shared.output import add_format, emit
from .shared.target import add_recipe, resolved


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
    result = probe(build(recipe), read_batch(_read(args.batch), args.batch), args.batch,
                   recipe.sampling[0].choice.siblings())
    return emit(args, json.dumps(result, indent=2, ensure_ascii=False), result)
=======
from .shared.output import add_format
from .shared.target import add_recipe, resolved


def add(subparsers: Any) -> None:
    """Registers the command."""
    p = subparsers.add_parser("probe", help="the recipe's objective, advantages and gradients on given numbers",
                              description="Evaluates the recipe's objective in float64 on BATCH.json. No model is needed.")
    add_recipe(p)
    add_format(p)
    p.add_argument("batch", help='{"responses": [{"prompt": …, "reward": …, "logp_current": […]}]}, or - for standard input')


def run(args: argparse.Namespace) -> int:
    """Prints the result as JSON; 0."""
    recipe = resolved(args.file, args)
    out = probe(build(recipe), read_batch(_read(args.batch), args.batch), args.batch,
                recipe.sampling[0].choice.siblings())
    print(json.dumps(out, indent=None if args.format == "json" else 2, ensure_ascii=False))
    return 0
>>>>>>> rules


def _read(path: str) -> str:
    import sys

    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError([at("RL407", f"cannot read {path}: {error}", None, fix="give a readable JSON file")]) from None
