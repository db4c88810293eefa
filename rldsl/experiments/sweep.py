"""A sweep's expansion: every combination resolved, checked and compiled before anything starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rldsl.axes.searching import Search
from rldsl.compiler.canonical import canonical, choice_data
from rldsl.compiler.diff import diff
from rldsl.compiler.resolve.dimensions import Axis
from rldsl.compiler.resolve.variants import Variants, sweep_of
from rldsl.diagnostics import Diagnostic, RecipeError, at
from rldsl.grammar.tree import Number, Sweep

from .expansion import (
    EXCLUDED,
    READY,
    SWEEP,
    Compiled,
    Expansion,
    Line,
    Point,
    bounded,
    compiled,
    left_out,
    seeds_from,
    with_plans,
)
from .measure import measurable

SEED = "seed"


@dataclass(frozen=True)
class Expanded:
    """An expansion with what there is to warn of."""

    expansion: Expansion
    warnings: tuple[Diagnostic, ...]


def expand_sweep(file: str, name: str | None, root: Path, *, metric: str, profile: str | None = None,
                 sets: Sequence[str] = (), seeds: int | None = None) -> Expanded:
    """Every point of a sweep, with its plans written below the project `root`.

    `seeds` counts from the recipe's seed; the sweep's own `seed` dimension comes first, then the recipe's
    `evidence.seeds`. RecipeError with everything wrong, or RL215 where no point is left.
    """
    sweep, axes, variants = sweep_of(file, name, profile=profile, sets=sets)
    base, search = variants.base(), variants.search(sweep)
    metric = search.metric or metric if search else metric
    chosen = _seeds(axes, seeds, base.seed, base.settings.evidence.seeds, sweep)
    axes = [a for a in axes if a.paths != (SEED,)]
    bounded(_number(axes), len(chosen), f"the sweep `{sweep.name}`", sweep.name_span)
    made = [_point(i, p, variants) for i, p in enumerate(variants.points(sweep, axes), 1)]
    found = left_out(sweep.name, [m.point for m in made], sweep.name_span)
    if any(d.severity == "error" for d in found):
        raise RecipeError(found)
    measurable(metric, [m.plan.recipe for m in made if m.plan])
    points = tuple(with_plans(m, chosen, root) for m in made)
    varies = tuple(path for a in axes for path in a.paths)
    track = base.settings.track
    expansion = Expansion(SWEEP, sweep.name, os.path.relpath(sweep.span.file, root), sweep.of.id, varies, chosen,
                          metric, _reference(made, canonical(base)), points,
                          (track.mlflow, track.experiment or sweep.name),
                          search=choice_data(search) if search else None,
                          space=tuple(Line(a.paths, len(a.places), not a.listed) for a in axes))
    warnings = dict.fromkeys(d for m in made for d in m.warnings)
    return Expanded(expansion, (*found, *_by_one_seed(search, chosen, sweep), *warnings))


def _by_one_seed(search: Search | None, seeds: Sequence[int], sweep: Sweep) -> list[Diagnostic]:
    """RL511 where a trial is given up for what a single run shows."""
    if search is None or not search.ends_early() or len(seeds) > 1:
        return []
    return [at("RL511", f"the search of `{sweep.name}` ends trials early, with one seed", sweep.name_span, "one seed",
               why="a bad beginning of one run says little of its point, and the point is never tried again",
               fix="give the sweep seeds, as in seed in 1..3, or let every trial end", severity="warning")]


def _number(axes: Sequence[Axis]) -> int:
    total = 1
    for a in axes:
        total *= len(a.places)
    return total


def _seeds(axes: Sequence[Axis], asked: int | None, first: int, own: int, sweep: Sweep) -> tuple[int, ...]:
    """The seeds of every point. RecipeError RL110 where two places say which."""
    dimension = next((a for a in axes if SEED in a.paths), None)
    if dimension is None:
        return seeds_from(first, asked or own)
    if asked is not None or dimension.paths != (SEED,):
        what = "--seeds is given beside it" if asked else "it moves together with something else"
        raise RecipeError([at("RL110", f"the sweep `{sweep.name}` has a `seed` dimension, and {what}",
                              dimension.dimension.span, "the seeds of every point",
                              why="all points have the same seeds, so that they can be compared pair by pair",
                              fix="leave one of them out")])
    values = [s.value for place in dimension.places for s in place]
    return tuple(dict.fromkeys(int(v.value) for v in values if isinstance(v, Number)))


def _point(number: int, found, variants: Variants) -> Compiled:
    values = {s.path.text: s.text for s in found.settings}
    label = ", ".join(f"{path} = {text}" for path, text in values.items()) or variants.recipe.name
    point = Point(f"p{number:03d}", label, values, READY)
    if found.excluded:
        return Compiled(replace(point, state=EXCLUDED), None)
    return compiled(point, found.recipe, found.found)


def _reference(made: Sequence[Compiled], base: dict) -> str:
    """The point that says what the recipe says; without one, the first that can run."""
    ready = [m for m in made if m.plan is not None]
    same = [m for m in ready if not [c for c in diff(base, m.plan.recipe) if c.place != SEED]]
    return (same or ready)[0].point.id


