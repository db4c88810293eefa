"""An expansion as people see it before anything runs: its points, what varies, what it will take."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import asdict
from typing import Any

from rldsl.compiler.show import show_data

from .expansion import INVALID, READY, Expansion, Point
from .text_table import aligned


def to_text(e: Expansion, done: Container[str]) -> str:
    """A table of points, then totals. `done` holds the experiments that are finished."""
    head = ["point", *e.varies, "state", "finished"]
    rows = [[p.id, *(p.values.get(path, "") for path in e.varies), _state(p), _finished(p, done)] for p in e.points]
    jobs = e.jobs()
    left = [j for j in jobs if j.experiment not in done]
    ready = sum(p.state == READY for p in e.points)
    cost = e.cost()
    lines = [*aligned(head, rows), "", f"{len(e.points):,} points, {ready:,} ready, × {len(e.seeds)} seeds "
             f"({', '.join(map(str, e.seeds[:8]))}{' …' if len(e.seeds) > 8 else ''}) = {len(jobs):,} runs",
             f"{len(jobs) - len(left):,} of them finished before, {len(left):,} to run", *_searched(e),
             f"predicted for all: {cost.batches:,} batches, {cost.responses:,} responses, "
             f"at most {cost.tokens:,} sampled tokens (without refills, evaluation and warm start)"]
    return "\n".join(lines)


def _searched(e: Expansion) -> list[str]:
    if e.search is None:
        return []
    return [f"search: {show_data(e.search)}: at most {e.trials():,} points with all their seeds, the recipe's first"]


def _state(p: Point) -> str:
    return " ".join(dict.fromkeys(code for code, _ in p.found)) if p.state == INVALID else p.state


def _finished(p: Point, done: Container[str]) -> str:
    own = list((p.experiments or {}).values())
    return f"{sum(x in done for x in own)}/{len(own)}" if own else "–"


def to_json(e: Expansion, done: Container[str]) -> dict[str, Any]:
    """The same as data."""
    jobs = e.jobs()
    points = [{"id": p.id, "values": dict(p.values), "state": p.state, "found": [list(f) for f in p.found],
               "fingerprints": p.fingerprints, "experiments": p.experiments} for p in e.points]
    return {"kind": e.kind, "name": e.name, "varies": list(e.varies), "seeds": list(e.seeds), "points": points,
            "search": e.search, "trials": e.trials(),
            "runs": len(jobs), "finished": sum(j.experiment in done for j in jobs), "cost": asdict(e.cost())}
