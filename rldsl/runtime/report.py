"""A run's report from its journal: one self-contained HTML page and a PNG file per curve."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from .chart import Drawing, Series, draw, smoothed
from .chart_png import write_png
from .chart_svg import STYLE as CHART_STYLE
from .chart_svg import svg
from .journal import Event, kept_events, read_journal
from .metrics import STANDARD, metric, written
from .tracking_values import flat

PAGE_STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1c2530, #e6ebf1); --paper: light-dark(#fff, #14191f);
  --rule: light-dark(#dfe4ea, #2d3742); --line: light-dark(#1f6feb, #6cb0ff); }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 64rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: 0.2rem 1rem 0.2rem 0;
  border-bottom: 1px solid var(--rule); vertical-align: top; } td.number { font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; border: 1px solid var(--rule); padding: 0.8rem; } .charts { display: flex; flex-wrap: wrap;
  gap: 1rem; } .small { font-size: 0.85em; opacity: 0.75; }
"""


@dataclass(frozen=True)
class ReportFiles:
    """Where the report is."""

    html: Path
    images: tuple[Path, ...]


@dataclass
class RunRecord:
    """What the journal says, put together: the start event's data, points (step, value) by metric, how it
    ended."""

    start: Mapping[str, Any] = field(default_factory=dict)
    points: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    status: str = "RUNNING"
    error: str = ""
    seconds: float = 0.0
    begun: float = 0.0


def write_report(folder: Path) -> ReportFiles:
    """Write `report.html` and `curves/*.png` into the run's folder; both are replaced if they exist.

    Steps that a resume took back are left out. Raises RunError RL609 for a damaged journal.
    """
    record = run_record(kept_events(read_journal(folder)))
    drawings = _drawings(record)
    (folder / "curves").mkdir(parents=True, exist_ok=True)
    images = []
    for name, drawing in drawings.items():
        images.append(folder / "curves" / f"{re.sub(r'[^a-zA-Z0-9_.-]', '_', name)}.png")
        write_png(drawing, images[-1])
    page = folder / "report.html"
    page.write_text(_page(record, drawings), "utf-8")
    return ReportFiles(page, tuple(images))


def run_record(events: Iterable[Event]) -> RunRecord:
    """Put a run's events together."""
    record = RunRecord()
    for event in events:
        record.begun = record.begun or event.time
        record.seconds = event.time - record.begun
        if event.kind == "start":
            record.start = event.data
        elif event.kind in ("step", "evaluate", "system"):
            for name, value in event.data["metrics"].items():
                if value is not None:
                    record.points.setdefault(name, []).append((event.data["step"], value))
        elif event.kind == "end":
            record.status, record.error = event.data["status"], event.data.get("error", "")
    return record


def _drawings(record: RunRecord) -> dict[str, Drawing]:
    """The standard metrics first, in their order, then the run's own by name."""
    standard = [m.name for m in STANDARD if m.name in record.points]
    drawings = {}
    for name in [*standard, *sorted(set(record.points) - set(standard))]:
        points = tuple(record.points[name])
        many = len(points) > 30
        series = [Series(points, faint=many), *([Series(smoothed(points))] if many else [])]
        drawing = draw(metric(name).title, series)
        if drawing is not None:
            drawings[name] = drawing
    return drawings


def _page(record: RunRecord, drawings: Mapping[str, Drawing]) -> str:
    name = escape(record.start.get("name", "run"))
    parts = [f"<h1>{name}</h1>", _summary(record)]
    if record.error:
        parts.append(f"<pre>{escape(record.error)}</pre>")
    if drawings:
        parts.append("<h2>Curves</h2><p class='small'>over steps; where there are many, the strong line is a running "
                     "mean of the faint one</p>")
        parts.append(f"<div class='charts'>{''.join(svg(drawing) for drawing in drawings.values())}</div>")
        parts.append(f"<h2>Numbers</h2>{_numbers(record, drawings)}")
    for title, key in (("Objective", "formula"), ("Recipe", "recipe")):
        if text := record.start.get(key):
            parts.append(f"<h2>{title}</h2><pre>{escape(text)}</pre>")
    for title, key in (("Settings", "params"), ("Fingerprints and tags", "tags")):
        if values := record.start.get(key):
            parts.append(f"<h2>{title}</h2>{_table(flat(values))}")
    return (f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}</title>"
            "<meta name='viewport' content='width=device-width, initial-scale=1'>"
            f"<style>{PAGE_STYLE}{CHART_STYLE}</style></head><body>{''.join(parts)}</body></html>\n")


def _summary(record: RunRecord) -> str:
    steps = max((int(points[-1][0]) for points in record.points.values()), default=0)
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.begun))
    return f"<p>{escape(record.status)} · {steps} steps · {record.seconds:.0f} s · begun {when}</p>"


def _numbers(record: RunRecord, drawings: Mapping[str, Drawing]) -> str:
    """First and last tenth, so that one noisy step does not speak for the run."""
    rows = []
    for name in drawings:
        values = [y for _, y in record.points[name] if math.isfinite(y)]
        tenth = max(1, len(values) // 10)
        m = metric(name)
        cells = [written(sum(part) / len(part), m.style) for part in (values[:tenth], values[-tenth:])]
        cells += [written(min(values), m.style), written(max(values), m.style)]
        numbers = "".join(f"<td class='number'>{cell}</td>" for cell in cells)
        rows.append(f"<tr><td>{escape(m.title)}</td>{numbers}<td class='small'>{escape(m.definition)}</td></tr>")
    return ("<table><tr><th>metric</th><th>first tenth</th><th>last tenth</th><th>lowest</th><th>highest</th>"
            f"<th>what it is</th></tr>{''.join(rows)}</table>")


def _table(values: Mapping[str, str]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in values.items())
    return f"<table>{rows}</table>"
