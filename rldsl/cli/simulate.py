"""Run a recipe's schedule under a simulated clock: idle time, age and length of the data, speed against the bound."""

from __future__ import annotations

import argparse
import dataclasses
import math
from pathlib import Path
from typing import Any

from rldsl.diagnostics import Diagnostic, RecipeError, at

from .shared.output import add_format, emit
from .shared.target import add_changes, resolved

EPILOG = ("examples: simulate grpo.rl · simulate grpo.rl --against 'partial(0.8) on colocated' "
          "--latency 'pareto(20s, alpha: 1.2)' --html compared.html · simulate a.rl b.rl --latency runs/mine --hours 1")
NUMBERS = (("--train", "SECONDS", "that all devices need to train a batch (default: as recorded, or as it takes to "
            "sample one in all slots)", "positive"),
           ("--push", "SECONDS", "that new weights take to the engines (default: as recorded, or 0)", "not negative"),
           ("--pause", "SECONDS", "that stopping what is under way takes (default: as recorded, or 0)", "not negative"),
           ("--prefill", "TOKENS/S", "at which a stopped response is computed again (default: in no time)", "positive"),
           ("--rate", "TOKENS/S", "of one response (default: one in a hundred reaches max_tokens)", "positive"),
           ("--hours", "HOURS", "of simulated time, instead of --batches", "positive"))
LARGEST_BATCH, MOST_RESPONSES = 2_000_000, 100_000_000
"""Responses of one batch, all of them in memory at once, and of all batches: minutes."""
LONGEST = 3.15576e10
"""Seconds, a thousand years."""
LEAST = {"positive": "a number above 0", "not negative": "0, or a number above it", "at least 1": "1 or more"}
COUNTS = (("--slots", "responses that all devices together sample at a time (default: as recorded, or a batch of the "
           "first recipe)"),
          ("--batches", "batches to train (default: 50)"))


def add(subparsers: argparse._SubParsersAction) -> None:
    """Declares the command's arguments."""
    parser = subparsers.add_parser("simulate", help=__doc__, description=__doc__, epilog=EPILOG)
    parser.add_argument("files", nargs="+", metavar="FILE[:NAME]", help="recipes, side by side")
    add_changes(parser)
    parser.add_argument("--against", action="append", default=[], metavar="SYSTEM",
                        help="also the first recipe with this `SCHEDULE on PLACEMENT`; may be repeated")
    parser.add_argument("--latency", default="lognormal(60s, sigma: 1)", metavar="CHOICE|RUN",
                        help="how long responses take: a choice that `rldsl axes latency` lists, or the folder of a "
                        "live run (default: %(default)s)")
    for name, unit, says, _ in NUMBERS:
        parser.add_argument(name, type=float, metavar=unit, help=says)
    for name, says in COUNTS:
        parser.add_argument(name, type=int, metavar="N", help=says)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the drawn times (default: 0)")
    parser.add_argument("--html", metavar="PAGE", help="write table and curves as a page")
    parser.add_argument("--replay", metavar="RUN", help="instead: whether the recipe's schedule takes the decisions "
                        "that the journal of this live run holds")
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Simulates every system with the same responses and prints one table."""
    from rldsl.runtime.simulation.machine import simulate
    from rldsl.runtime.simulation.measure import outcome
    from rldsl.runtime.simulation.page import page, text

    _require(args)
    found: list[Diagnostic] = []
    cases = _cases(args, found)
    if args.replay:
        return _replay(args, cases[0][1])
    costs, trace, facts = _machine(args, cases[0])
    horizon = math.inf if args.hours is None else args.hours * 3600
    for _, recipe, terms in cases:
        _require_end(recipe, terms, costs.slots * horizon / trace.mean[0])
    outcomes = []
    for name, recipe, terms in cases:
        placement = recipe.placement.choice
        measured = simulate(recipe.schedule.choice, placement, terms, costs, trace, horizon)
        if len(measured.batches) < terms.batches and args.hours is None:
            found.append(_stuck(name, recipe, len(measured.batches), terms.batches))
        outcomes.append(outcome(name, placement, costs, measured))
    if args.html:
        _write(args.html, page(outcomes, facts))
        facts["page"] = args.html
    width = max(map(len, facts))
    lines = [f"{k:<{width}}  {v}" for k, v in facts.items()]
    payload = {"simulation": {"assumptions": facts, "systems": [o.to_json() for o in outcomes]}}
    return emit(args, "\n".join([*lines, "", text(outcomes)]), payload, found)


def _replay(args: argparse.Namespace, recipe: Any) -> int:
    """Says how many decisions were replayed; RL619 where one differs."""
    from rldsl.runtime.control import replay
    from rldsl.runtime.simulation.trace import controls

    records = controls(Path(args.replay))
    differences = list(replay(recipe.schedule.choice, records))
    found = [Diagnostic("RL619", f"decision {number + 1} of {len(records)} differs: {says}",
                        why="a schedule is a pure function of its events, so the same events give the same decisions",
                        fix="compare the recipe's schedule and the release with those of the run")
             for number, says in differences[:5]]
    told = f"{len(records)} decisions of {args.replay}, {len(differences)} of them taken otherwise now"
    return emit(args, told, {"replay": {"decisions": len(records), "differ": len(differences)}}, found)


def _require(args: argparse.Namespace) -> None:
    """RL204 for a number out of its bounds, RL205 for two that state one fact."""
    wrong = [(name, sign) for name, _, _, sign in NUMBERS if (x := _given(args, name)) is not None and not (
        math.isfinite(x) and (x > 0 or (sign == "not negative" and x == 0)))]
    wrong += [(name, "at least 1") for name, _ in COUNTS if (x := _given(args, name)) is not None and x < 1]
    found = [at("RL204", f"`{name}` must be {sign}; {_given(args, name):g} was given", None,
                why="Time passes forward, and something has to do the work.", fix=f"Give {LEAST[sign]}.")
             for name, sign in wrong]
    if args.hours is not None and args.batches is not None:
        found.append(at("RL205", "`--hours` and `--batches` both say when the simulation ends.", None,
                        fix="Give one of them."))
    if found:
        raise RecipeError(found)


def _given(args: argparse.Namespace, name: str) -> float | None:
    return getattr(args, name.removeprefix("--"))


def _cases(args: argparse.Namespace, found: list[Diagnostic]) -> list[tuple[str, Any, Any]]:
    """(name, recipe, terms) of each system. RecipeError where a recipe is wrong or a system cannot exist."""
    from rldsl.compiler.check import check
    from rldsl.compiler.resolve.alone import system_alone
    from rldsl.compiler.rules import rl208_never_stopped, rl208_unused_versions, rl313_overlap
    from rldsl.compiler.show import show

    recipes = [resolved(target, args) for target in args.files]
    for recipe in recipes:
        found += check(recipe)
    for written in args.against:
        schedule, placement = system_alone(written, "--against")
        recipes.append(dataclasses.replace(recipes[0], schedule=schedule, placement=placement))
        for rule in (rl313_overlap, rl208_unused_versions, rl208_never_stopped):
            found += rule.check(recipes[-1])
    found[:] = dict.fromkeys(found)
    if any(d.severity == "error" for d in found):
        raise RecipeError(found)
    names = [f"{show(r.schedule.choice)} on {show(r.placement.choice)}" for r in recipes]
    if len(args.files) > 1:
        names = [f"{r.name}: {name}" for r, name in zip(recipes, names, strict=True)]
    return [(name, recipe, _terms(recipe, args)) for name, recipe in zip(names, recipes, strict=True)]


def _terms(recipe: Any, args: argparse.Namespace) -> Any:
    from rldsl.runtime.control import terms

    if recipe.settings.data.prompts is None:
        raise RecipeError([at("RL202", f"`{recipe.name}` does not say how many prompts a batch has.", recipe.span,
                              "no data.prompts", why="A schedule counts prompts.", fix="Write data { prompts: 16 }.")])
    if recipe.sampling[0].choice.stored() is not None:
        raise RecipeError([at("RL406", f"`{recipe.name}` samples nothing: its responses are stored.",
                              recipe.sampling[0].span, "from the data set", why="There is nothing to schedule.",
                              fix="Simulate a recipe whose policy answers.")])
    endless = args.hours is not None
    return dataclasses.replace(terms(recipe), batches=10**9 if endless else args.batches or 50)


def _stuck(name: str, recipe: Any, made: int, wanted: int) -> Diagnostic:
    """RL604 for a schedule that waits for what never comes."""
    return at("RL604", f"`{name}` comes to a stand after {made} of {wanted} batches.", recipe.schedule.span,
              "waits for ever", why="Nothing is under way any more, and the schedule asks for nothing.",
              fix="Choose another schedule or placement; a run would stand still in the same place.")


def _require_end(recipe: Any, terms: Any, served: float) -> None:
    """RL204 for a simulation that would not end, or not fit in memory; `served` responses are over at its horizon."""
    batch = terms.prompts * terms.siblings
    for what, number, most, fix in (
            ("one batch", batch, LARGEST_BATCH, "Simulate a smaller batch: fewer data.prompts, or fewer responses."),
            ("all", min(batch * terms.batches, served + batch), MOST_RESPONSES,
             "Simulate a shorter time: fewer --batches, --hours or --slots.")):
        if number > most:
            raise RecipeError([at("RL204", f"`{recipe.name}` would simulate {number:,.0f} responses in {what}, and at "
                                  f"most {most:,} are.", None, fix=fix,
                                  why="Every response is an event of its own: hours would pass, and memory run out.")])


def _machine(args: argparse.Namespace, first: tuple[str, Any, Any]) -> tuple[Any, Any, dict[str, str]]:
    """Costs, trace, and what is assumed in words."""
    from rldsl.runtime.simulation.machine import Costs

    _, recipe, terms = first
    trace, placement = _trace(args, recipe), recipe.placement.choice
    full = terms.prompts * terms.siblings
    slots = args.slots or (math.ceil(trace.peak / placement.samples(False)) if trace.peak else full)
    recorded = trace.train and trace.train * full * trace.mean[1] * placement.trains()
    train = args.train or recorded or full * trace.mean[0] / slots
    push = args.push if args.push is not None else trace.push or 0.0
    pause = args.pause if args.pause is not None else trace.pause or 0.0
    facts = {"batch": f"{terms.prompts} prompts × {terms.siblings} responses",
             "responses": f"{trace.source}: mean {trace.mean[0]:.4g} s, {trace.mean[1]} tokens",
             "slots": f"{slots} responses at a time on all devices",
             "training": f"{train:.4g} s a batch on all devices", "push": f"{push:.4g} s",
             "pause": f"{pause:.4g} s",
             "stopped responses": f"computed again at {args.prefill:g} tokens/s" if args.prefill else "go on at once"}
    if terms.at_once is not None:
        facts["sources"] = "the limit for each source is left out: a trace has none"
    return Costs(slots, train, push, args.prefill, pause), trace, facts


def _trace(args: argparse.Namespace, recipe: Any) -> Any:
    from rldsl.axes.base import Latency
    from rldsl.compiler.resolve.alone import choice_alone
    from rldsl.compiler.show import show
    from rldsl.runtime.simulation.trace import drawn, recorded

    if Path(args.latency).is_dir() or "/" in args.latency:
        return recorded(Path(args.latency), args.seed)
    latency = choice_alone(args.latency, "latency", Latency, "--latency")
    most = recipe.sampling[0].choice.max_tokens
    if not latency.quantile(0.99) <= LONGEST:
        raise RecipeError([at("RL204", f"Of {show(latency)} one response in a hundred takes longer than "
                              f"{LONGEST / 3.15576e7:,.0f} years.", None, why="Nothing that is measured lasts so long.",
                              fix="Write a shorter time, or a narrower distribution.")])
    return drawn(latency, show(latency), args.rate or most / latency.quantile(0.99), most, args.seed)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecipeError([at("RL407", f"Cannot write {path}: {error.strerror}.", None,
                              fix="Give a path in a folder that can be written.")]) from error
