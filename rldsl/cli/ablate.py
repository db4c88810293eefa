"""Train the path from one recipe to another, one axis at a time, and the goal without each change."""

from __future__ import annotations

import argparse
import os

from .shared.experiment import add_running, frozen_below, perform
from .shared.output import add_format
from .shared.target import add_changes, home, split

EPILOG = "examples: ablate grpo.rl dapo.rl --profile toy --seeds 3 · ablate mine.rl:steps --dry-run"


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("ablate", help=__doc__, description=__doc__, epilog=EPILOG)
    parser.add_argument("file", metavar="FILE[:NAME]", help="an ablation; with GOAL, the recipe to start from")
    parser.add_argument("goal", nargs="?", metavar="GOAL", help="FILE[:NAME] of the recipe to end at")
    parser.add_argument("--order", metavar="A,B,…|all", help="axes and blocks in the order to change them (those not "
                        "named follow), or all orders")
    add_changes(parser)
    add_running(parser)
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Expands the ablation and runs it; exit codes as those of `rldsl sweep`."""
    from rldsl.experiments.ablate import expand_ablation

    ends, order, path = _ad_hoc(args) if args.goal else _block(args)
    root = home(path)
    with frozen_below(root):
        expanded = expand_ablation(ends, root, order=order, metric=order.metric or args.metric, seeds=args.seeds)
    return perform(expanded.expansion, expanded.warnings, root, args)


def _ad_hoc(args: argparse.Namespace):
    from rldsl.compiler.resolve import resolve
    from rldsl.experiments.ablate import Ends

    (one, start), (other, goal) = split(args.file), split(args.goal)
    first, last = (resolve(p, n, profile=args.profile, sets=args.sets) for p, n in ((one, start), (other, goal)))
    name = f"{first.name}_to_{last.name}"
    return Ends(name, os.path.basename(other), first, last), _order(args), other


def _block(args: argparse.Namespace):
    import dataclasses

    from rldsl.compiler.resolve import resolve
    from rldsl.compiler.resolve.variants import ablation_of
    from rldsl.experiments.ablate import Ends

    path, name = split(args.file)
    ablation, options = ablation_of(path, name)
    first, last = (resolve(path, end.id, profile=args.profile, sets=args.sets)
                   for end in (ablation.start, ablation.goal))
    asked = _order(args)
    order = dataclasses.replace(options, order=asked.order or options.order, every=asked.every or options.every,
                                seeds=args.seeds or options.seeds)
    return Ends(ablation.name, os.path.basename(path), first, last, ablation.name_span), order, path


def _order(args: argparse.Namespace):
    """The `--order` option, read as the block's own `order`."""
    from rldsl.compiler.resolve.ablation import ALL, Options, options
    from rldsl.compiler.resolve.fold import Scope
    from rldsl.compiler.resolve.report import Report
    from rldsl.diagnostics import RecipeError, Span
    from rldsl.grammar.parser import parse_expression
    from rldsl.grammar.tree import Ablate, Entry, Name

    if args.order is None:
        return Options()
    text = args.order if args.order == ALL else f"[{args.order}]"
    value = parse_expression(text, "--order")
    place, report = Span("--order", 1, 1, 1, len(text) + 1), Report()
    asked = Ablate("", Name("", place), Name("", place), (Entry("order", value, place),), place, place)
    found = options(asked, Scope({}, report), report)
    if report.found:
        raise RecipeError(report.found)
    return found
