"""Runs put together: one row a change with its score over seeds, its paired difference, and what may be concluded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rldsl.compiler.diff import diff
from rldsl.compiler.plan import reason
from rldsl.diagnostics import RecipeError, at

from .attribution import shapley
from .expansion import ABLATION, READY, Expansion, Point
from .measure import Measured, measurable, measure, recorded
from .registry import finished
from .statistics import LEVEL, Difference, Estimate, estimate, holm, paired

YES, NO, SAME, UNKNOWN = "yes", "no", "identical", "cannot say"


@dataclass(frozen=True)
class Row:
    """A point in the table. `values` is the metric by seed; `other` the point that `difference` is
    taken to and `against` its label; `adjusted` the p-value after Holm; tokens and seconds are means over the runs."""

    point: str
    label: str
    state: str
    values: Mapping[int, float]
    score: Estimate | None
    changes: tuple[str, ...] = ()
    other: str = ""
    against: str = ""
    difference: Difference | None = None
    adjusted: float | None = None
    generated: float = 0.0
    trained: float = 0.0
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """Whether the difference can be told from noise, at 5 % over all comparisons of the report together."""
        if self.difference is None:
            return ""
        if self.difference.p == 1.0 and not self.difference.half:
            return SAME
        if self.adjusted is None:
            return UNKNOWN
        return YES if self.adjusted < LEVEL else NO


@dataclass(frozen=True)
class Section:
    """Rows under a heading; `says` is what its differences are."""

    title: str
    says: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Comparison:
    """Everything a report shows. `attribution` is {change: gain} with the number of orders; `curves` the metric by
    step for each seed, by label."""

    expansion: Expansion
    metric: str
    sections: tuple[Section, ...]
    recipes: Mapping[str, Mapping[str, Any]]
    attribution: tuple[Mapping[str, float], int] | None
    curves: Mapping[str, Sequence[Sequence[tuple[float, float]]]]
    missing: tuple[str, ...]

    def rows(self) -> list[Row]:
        """Those of all sections."""
        return [row for s in self.sections for row in s.rows]


def compare(expansion: Expansion, root: Path, metric: str) -> Comparison:
    """What the finished runs of an expansion say. RecipeError RL407, RL410."""
    runs = finished(root)
    recipes = {p.id: _recipe(root, p) for p in expansion.points if p.plans}
    measurable(metric, recipes.values())
    read = cache(lambda folder: measure(folder, metric))
    found = {p.id: {int(s): read(runs[x]) for s, x in (p.experiments or {}).items() if x in runs}
             for p in expansion.points}
    recorded(metric, [m for by_seed in found.values() for m in by_seed.values()])
    if expansion.search is not None:
        expansion = replace(expansion, points=tuple(p for p in expansion.points if found[p.id]
                                                    or p.id == expansion.reference))
    build = _ablation if expansion.kind == ABLATION else _sweep
    sections = _adjusted(build(expansion, recipes, found), expansion)
    shown = list(dict.fromkeys(row.point for row in sections[0].rows))[:8]
    curves = {expansion.point(i).label: [m.points for m in found[i].values()] for i in shown if found[i]}
    missing = tuple(f"{p.label}: {len(found[p.id])} of {len(p.experiments)} runs are finished"
                    for p in expansion.points if p.experiments and len(found[p.id]) < len(p.experiments))
    return Comparison(expansion, metric, sections, recipes, _attribution(expansion, found), curves, missing)


def _recipe(root: Path, point: Point) -> Mapping[str, Any]:
    path = root / next(iter(point.plans.values()))
    try:
        return json.loads(path.read_text(encoding="utf-8"))["recipe"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecipeError([at("RL407", f"the plan {path} cannot be read: {reason(error)}", None,
                              why="a report says what each row changes",
                              fix="run the sweep or ablation again with --dry-run, which writes its plans")]) from error


def _values(runs: Mapping[int, Measured]) -> dict[int, float]:
    return {s: m.value for s, m in runs.items() if m.value is not None}


def _row(point: Point, runs: Mapping[int, Measured], label: str = "") -> Row:
    values, n = _values(runs), max(len(runs), 1)
    state = point.state if point.state == READY else " ".join([point.state, *dict.fromkeys(c for c, _ in point.found)])
    return Row(point.id, label or point.label, state, values, estimate(list(values.values())) if values else None,
               generated=sum(m.generated for m in runs.values()) / n,
               trained=sum(m.trained for m in runs.values()) / n, seconds=sum(m.seconds for m in runs.values()) / n)


def _against(row: Row, other: Row, recipes: Mapping[str, Mapping[str, Any]], turned: bool = False) -> Row:
    """The row with its difference to another; `turned` takes other − row, the effect of what the row lacks."""
    pair = (other, row) if not turned else (row, other)
    sentences: tuple[str, ...] = ()
    if row.point in recipes and other.point in recipes:
        sentences = tuple(c.sentence for c in diff(recipes[pair[0].point], recipes[pair[1].point]))
    gap = paired(pair[0].values, pair[1].values)
    return replace(row, other=other.point, against=other.label, difference=gap, changes=sentences)


def _ablation(e: Expansion, recipes: Mapping, found: Mapping) -> tuple[Section, ...]:
    """The path, each row against the one before that has scores; then the goal against itself without each change."""
    by_subset = {frozenset(p.changed): p for p in e.points}
    path, last = [], None
    for i in range(len(e.order) + 1):
        point = by_subset[frozenset(e.order[:i])]
        row = _row(point, found[point.id], f"+ {e.order[i - 1]}" if i else point.label)
        path.append(_against(row, last, recipes) if last is not None else row)
        last = row if row.score is not None else last
    goal = replace(path[-1], label=by_subset[frozenset(e.order)].label)
    without = [by_subset[frozenset(e.order) - {x}] for x in e.order]
    rows = [_against(_row(p, found[p.id], f"without {x}"), goal, recipes, turned=True)
            for p, x in zip(without, e.order, strict=True)]
    return (Section("One change at a time", "difference: to the row before", tuple(path)),
            Section("All changes but one", f"difference: what the change adds to {goal.label} without it", tuple(rows)))


def _sweep(e: Expansion, recipes: Mapping, found: Mapping) -> tuple[Section, ...]:
    rows = {p.id: _row(p, found[p.id]) for p in e.points}
    reference = rows[e.reference]
    own = e.point(e.reference).experiments
    every = [r if e.point(r.point).experiments == own else _against(r, reference, recipes) for r in rows.values()]
    return (Section("Points", f"difference: to {e.reference}, {reference.label}", tuple(every)),)


def _adjusted(sections: Sequence[Section], e: Expansion) -> tuple[Section, ...]:
    """Holm over all differences of the report, those between the same runs counted once."""
    rows = [r for s in sections for r in s.rows]
    pairs = {compared(r, e): r.difference.p for r in rows if r.difference}
    adjusted = dict(zip(pairs, holm(list(pairs.values())), strict=True))
    filled = iter([replace(r, adjusted=adjusted.get(compared(r, e))) for r in rows])
    return tuple(replace(s, rows=tuple(next(filled) for _ in s.rows)) for s in sections)


def compared(row: Row, e: Expansion) -> frozenset[tuple[str, ...]]:
    """Which runs a difference is between: points may share theirs, and two sections a difference."""
    return frozenset(tuple((e.point(i).experiments or {}).values()) for i in (row.point, row.other) if i)


def _attribution(e: Expansion, found: Mapping) -> tuple[Mapping[str, float], int] | None:
    """Over the mean at each subset of changes of the seeds that all of them have, so that seeds stay paired; only where
    all orders were asked for."""
    if e.kind != ABLATION or e.orders != "all":
        return None
    scores = {frozenset(p.changed): v for p in e.points if (v := _values(found[p.id]))}
    seeds = set.intersection(*(set(v) for v in scores.values())) if scores else set()
    if not seeds:
        return None
    return shapley({s: estimate([v[x] for x in sorted(seeds)]).mean for s, v in scores.items()}, e.order)


def to_json(c: Comparison) -> dict[str, Any]:
    """The numbers of a report as data."""
    def number(x: Estimate | None) -> Any:
        return None if x is None else {"mean": x.mean, "half_width": x.half, "n": x.n}

    sections = [{"title": s.title, "difference": s.says, "rows": [
        {"point": r.point, "label": r.label, "state": r.state, "values": {str(k): v for k, v in r.values.items()},
         "score": number(r.score), "difference": number(r.difference), "against": r.against,
         "p": r.difference.p if r.difference else None, "p_holm": r.adjusted, "distinguishable": r.verdict,
         "changes": list(r.changes), "tokens_generated": r.generated, "tokens_trained": r.trained,
         "seconds": r.seconds} for r in s.rows]} for s in c.sections]
    shares = None if c.attribution is None else {"orders": c.attribution[1], "gains": dict(c.attribution[0])}
    return {"name": c.expansion.name, "metric": c.metric, "seeds": list(c.expansion.seeds), "sections": sections,
            "attribution": shares, "missing": list(c.missing)}
