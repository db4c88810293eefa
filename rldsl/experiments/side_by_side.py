"""What two runs came to, number beside number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rldsl.runtime.folder import status
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.metrics import BY_NAME, HELD_OUT, STANDARD, Metric, metric, written
from rldsl.runtime.report import run_record

from .text_table import aligned

TASKS = f"{HELD_OUT.name.partition('/')[0]}/"
NOTE = "One run a side: a difference may be the seed's. `rldsl report` compares over seeds."


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its canonical recipe and, of a run, how it stands and its metrics after the last batch
    that has them."""

    label: str
    recipe: Mapping[str, Any]
    status: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


def of_folder(folder: Path, recipe: Mapping[str, Any]) -> Side:
    """The run in a folder. RunError RL609 for a damaged journal."""
    record = run_record(kept_events(read_journal(folder)))
    return Side(folder.name, recipe, status(folder)[0], {name: points[-1][1] for name, points in record.points.items()})


def to_text(a: Side, b: Side) -> str:
    """A table of the standard metrics and held-out tasks that both have; nothing where one of them is no run."""
    if not (a.status and b.status):
        return ""
    rows = [(m.title, *_cells(a.metrics[m.name], b.metrics[m.name], m.style)) for m in _shown(a, b)]
    head = ("after the last batch", a.label, b.label, "difference")
    return "\n".join([*aligned(head, [("status", a.status.lower(), b.status.lower(), ""), *rows]), "", NOTE])


def to_json(a: Side, b: Side) -> dict[str, Any]:
    """All metrics of both, as data."""
    names = dict.fromkeys((*a.metrics, *b.metrics))
    return {"runs": [{"name": s.label, "status": s.status} for s in (a, b)],
            "metrics": {name: [_finite(s.metrics.get(name)) for s in (a, b)] for name in names}}


def _shown(a: Side, b: Side) -> Sequence[Metric]:
    both = a.metrics.keys() & b.metrics.keys()
    tasks = sorted(name for name in both if name.startswith(TASKS) and name not in BY_NAME)
    return [*(m for m in STANDARD if m.name in both), *map(metric, tasks)]


def _cells(a: float, b: float, style: str) -> tuple[str, str, str]:
    gap = b - a
    if style == "share":
        return written(a, style), written(b, style), f"{100 * gap:+.0f} points"
    return written(a, style), written(b, style), f"{gap:+,.0f}" if style == "rate" else f"{gap:+.3g}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
