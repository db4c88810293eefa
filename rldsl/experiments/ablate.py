"""An ablation's expansion: the differences between two recipes, taken one axis at a time and left out one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rldsl.axes.discover import AXES
from rldsl.compiler.canonical import canonical, from_canonical
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.diff import AXIS_OF, diff
from rldsl.compiler.fingerprint import DATA, OBJECTIVE
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.resolve.ablation import Options
from rldsl.compiler.settings import blocks
from rldsl.diagnostics import RecipeError, Span, at
from rldsl.grammar.tree import Name

from .expansion import ABLATION, READY, Compiled, Expansion, Point, bounded, compiled, left_out, seeds_from, with_plans
from .measure import measurable
from .sweep import Expanded

JUDGES = "evaluate"
ALL, GIVEN = "all", "given"
ALIKE = (JUDGES, "cluster", "track", "evidence")
"""Blocks that every point takes from the goal: what judges must judge all alike, the rest does not change a result."""


@dataclass(frozen=True)
class Ends:
    """Where an ablation begins and ends, and the place that named it, if one did."""

    name: str
    file: str
    start: Recipe
    goal: Recipe
    span: Span | None = None


def expand_ablation(ends: Ends, root: Path, *, order: Options, metric: str, seeds: int | None = None) -> Expanded:
    """The points of an ablation with their plans written: the start, the path to the goal, the goal without each
    change; with `order.every`, all subsets of the changes.

    RecipeError where an end is wrong, where nothing differs (RL212), or where there are too many points (RL213).
    """
    warnings = dict.fromkeys(d for r in (ends.start, ends.goal) for d in compile_recipe(r)[1])
    old, new = canonical(ends.start), canonical(ends.goal)
    path = _path(places(old, new), order.order, ends)
    chosen = seeds_from(ends.start.seed, order.seeds or seeds or ends.goal.settings.evidence.seeds)
    subsets = _subsets(path, order.every, len(chosen), ends)
    measurable(metric, [new])
    made = [_point(i, subset, path, ends, old, new) for i, subset in enumerate(subsets, 1)]
    found = left_out(ends.name, [m.point for m in made], ends.span)
    if any(d.severity == "error" for d in found):
        raise RecipeError(found)
    points = tuple(with_plans(m, chosen, root) for m in made)
    track = ends.goal.settings.track
    expansion = Expansion(ABLATION, ends.name, ends.file, f"{ends.start.name} to {ends.goal.name}", path, chosen,
                          metric, points[0].id, points, (track.mlflow, track.experiment or ends.name), path,
                          ALL if order.every else GIVEN)
    return Expanded(expansion, (*found, *warnings))


def places(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """The axes, then the blocks, that differ in what is learned or from what; a block named as an axis is with it."""
    changed = {c.place for c in diff(old, new) if c.moves in (OBJECTIVE, DATA)} - set(ALIKE)
    return tuple(p for p in dict.fromkeys((*AXES, *blocks())) if p in changed)


def mixed(old: Mapping[str, Any], new: Mapping[str, Any], changed: Iterable[str]) -> dict[str, Any]:
    """The canonical recipe `old` with the given places of `new`."""
    taken = {*changed, *ALIKE}
    axes = {a: (new if AXIS_OF.get(a, a) in taken else old)["axes"][a] for a in old["axes"]}
    settings = {b: (new if b in taken else old)["settings"][b] for b in old["settings"]}
    return {**old, "axes": axes, "settings": settings}


def _path(found: Sequence[str], order: Sequence[Name], ends: Ends) -> tuple[str, ...]:
    """The changes in the order asked for, then the others. RecipeError RL208, RL212."""
    if not found:
        raise RecipeError([at("RL212", f"`{ends.start.name}` and `{ends.goal.name}` train the same", ends.span,
                              "nothing to ablate", fix="name two recipes that differ")])
    idle = [x for x in order if x.id not in found]
    if idle:
        raise RecipeError([at("RL208", f"`{x.id}` has no effect in the order: the recipes do not differ there", x.span,
                              "nothing differs", fix=f"what differs is {', '.join(found)}") for x in idle])
    return tuple(dict.fromkeys((*(x.id for x in order), *found)))


def _subsets(path: tuple[str, ...], every: bool, seeds: int, ends: Ends) -> list[tuple[str, ...]]:
    """Which changes each point has made: cumulative, then leave-one-out, then the rest if all orders are asked for."""
    n = len(path)
    bounded(2 ** n if every else 2 * n, seeds, f"the ablation `{ends.name}` with {n} changes"
            + (f" in all orders has 2^{n} = {2 ** n:,} points" if every else ""), ends.span)
    along = [path[:i] for i in range(n + 1)]
    without = [tuple(p for p in path if p != x) for x in path]
    rest = [c for k in range(n + 1) for c in combinations(path, k)] if every else []
    return list(dict.fromkeys((*along, *without, *rest)))


def _point(number: int, subset: tuple[str, ...], path: tuple[str, ...], ends: Ends, old: Mapping[str, Any],
           new: Mapping[str, Any]) -> Compiled:
    values = {p: ends.goal.name if p in subset else ends.start.name for p in path}
    point = Point(f"p{number:03d}", label(subset, path, ends.start.name, ends.goal.name), values, READY, subset)
    data = mixed(old, new, subset)
    named = {**data, "name": ends.goal.name} if subset == path else data
    try:
        recipe = from_canonical(named)
    except RecipeError as error:
        return compiled(point, None, error.diagnostics)
    return compiled(point, recipe, ())


def label(subset: Sequence[str], path: Sequence[str], start: str, goal: str) -> str:
    """A point in words."""
    missing = [p for p in path if p not in subset]
    if not subset or not missing:
        return start if not subset else goal
    if tuple(subset) == tuple(path[:len(subset)]):
        return f"{start} + {' + '.join(subset)}"
    return f"{goal} without {missing[0]}" if len(missing) == 1 else f"{start} + {' + '.join(subset)}"

