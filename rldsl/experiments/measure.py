"""The number that runs are compared by, and what they cost, from their journals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.recorded import lacking
from rldsl.diagnostics import RecipeError, at
from rldsl.diagnostics.suggest import did_you_mean
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.metrics import BY_NAME, FAMILIES, HELD_OUT, STEP_SECONDS

TASKS = f"{HELD_OUT.name.partition('/')[0]}/"
TOKENS, ROWS, LENGTH, UPDATES = "tokens", "rows_computed", "responses/length", "updates"


@dataclass(frozen=True)
class Measured:
    """One run: its metric by step, and its cost. Tokens trained are the responses through forward and backward times
    the batch's mean length, over all updates."""

    points: tuple[tuple[float, float], ...] = ()
    generated: float = 0.0
    trained: float = 0.0
    seconds: float = 0.0
    batches: int = 0
    metrics: frozenset[str] = field(default_factory=frozenset)

    @property
    def value(self) -> float | None:
        """The metric after the last batch. The last, not the best: choosing the best would favour noisy runs."""
        return self.points[-1][1] if self.points and math.isfinite(self.points[-1][1]) else None


def measure(folder: Path, metric: str) -> Measured:
    """Reads a run. RunError RL609 for a damaged journal."""
    points, names, generated, trained, seconds, updates, batches = [], set(), 0.0, 0.0, 0.0, 0.0, 0
    for event in kept_events(read_journal(folder)):
        if event.kind not in ("step", "evaluate"):
            continue
        metrics = event.data["metrics"]
        names |= metrics.keys()
        if metrics.get(metric) is not None:
            points.append((event.data["step"], metrics[metric]))
        if event.kind == "step":
            batches += 1
            generated += metrics.get(TOKENS, 0.0)
            seconds += metrics.get(STEP_SECONDS.name, 0.0)
            done = metrics.get(UPDATES, updates) - updates
            updates += done
            trained += metrics.get(ROWS, 0.0) * metrics.get(LENGTH, 0.0) * done
    return Measured(tuple(points), generated, trained, seconds, batches, frozenset(names))


def measurable(metric: str, recipes: Iterable[Mapping[str, Any]]) -> None:
    """RecipeError RL410 where runs of these canonical recipes can never record the metric."""
    every = list(recipes)
    named(metric, every)
    missing = next((words for r in every if (words := _lacking(r, metric))), None)
    if missing:
        raise RecipeError([at("RL410", f"the metric `{metric}` is never recorded", None,
                              why=f"what records it is {missing}, which the recipe does not have",
                              fix="add that, or compare what training itself records: --metric reward/mean")])


def named(metric: str, recipes: Iterable[Mapping[str, Any]]) -> None:
    """RecipeError RL410 where no run of any recipe, or of these for a task of their own, records such a metric."""
    own = dict.fromkeys(f"{TASKS}{t['task']}" for r in recipes for t in r["settings"]["evaluate"]["tasks"])
    known = metric in BY_NAME or (metric in own if metric.startswith(TASKS) else metric.partition("/")[0] in FAMILIES)
    if not known:
        near = did_you_mean(metric, [*BY_NAME, *own])
        raise RecipeError([at("RL410", f"no run records a metric `{metric}`", None,
                              why="it is neither a standard metric nor of a family of them",
                              fix=near or "docs/metrics.md lists what a run reports")])


def _lacking(recipe: Mapping[str, Any], metric: str) -> str | None:
    """What the recipe would need; nothing where it was made with another version, and its runs will tell."""
    try:
        return lacking(from_canonical(recipe), metric)
    except RecipeError:
        return None


def recorded(metric: str, runs: Iterable[Measured]) -> None:
    """RecipeError RL410 where none of the runs has the metric."""
    every = list(runs)
    if every and not any(m.points for m in every):
        names = sorted(set().union(*(m.metrics for m in every)))
        raise RecipeError([at("RL410", f"none of {len(every)} runs recorded the metric `{metric}`", None,
                              why="a table of gaps would look like a result",
                              fix=did_you_mean(metric, names) or f"they have {', '.join(names)}")])
