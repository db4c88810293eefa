"""Curves with bands: for each row the mean over seeds at every step, and its interval, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from rldsl.runtime.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, ticks

from .statistics import estimate

COLOURS = ("#1f6feb", "#d1571a", "#1a8754", "#8f3bb8", "#b08900", "#c2255c", "#0b7285", "#5c677d")
LINE = 16
"""Height of one line of the legend in pixels."""

Curve = Sequence[tuple[float, float, float]]


def curve(runs: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float, float]]:
    """(step, mean, half-width of the interval) at the steps that every run has; 0 wide with one run."""
    by_step = [{x: y for x, y in run if math.isfinite(y)} for run in runs]
    steps = sorted(set.intersection(*(set(b) for b in by_step))) if by_step else []
    found = [(x, estimate([b[x] for b in by_step])) for x in steps]
    return [(x, e.mean, e.half or 0.0) for x, e in found]


def svg(title: str, curves: Mapping[str, Curve]) -> str:
    """One `<svg>` element with a legend; an empty text where there is nothing to draw."""
    drawn = {label: c for label, c in curves.items() if c}
    if not drawn:
        return ""
    xs = [x for c in drawn.values() for x, _, _ in c]
    low, high = (f(y + sign * h for c in drawn.values() for _, y, h in c) for f, sign in ((min, -1), (max, 1)))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    marks = ticks(low, high)
    low, high, right = min(low, marks[0]), max(high, marks[-1]), max(max(xs), min(xs) + 1)

    def place(x: float, y: float) -> str:
        across = LEFT + (x - min(xs)) / (right - min(xs)) * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f},{HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM):.1f}"

    parts = [f'<text class="title" x="{LEFT}" y="18">{escape(title)}</text>', *_grid(marks, ticks(min(xs), right),
             place, (min(xs), right), (low, high))]
    for i, (label, c) in enumerate(drawn.items()):
        parts += _drawn(c, COLOURS[i % len(COLOURS)], place)
        y = HEIGHT + LINE * (i + 0.75)
        parts.append(f'<rect x="{LEFT}" y="{y - 9:.0f}" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
                     f'<text x="{LEFT + 16}" y="{y:.0f}">{escape(label)}</text>')
    tall = HEIGHT + LINE * len(drawn) + 6
    return (f'<svg class="chart" viewBox="0 0 {WIDTH} {tall}" width="{WIDTH}" role="img" '
            f'aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>')


def _grid(ys: Sequence[float], xs: Sequence[float], place, across: tuple[float, float],
          up: tuple[float, float]) -> list[str]:
    parts = []
    for y in ys:
        (x1, at), (x2, _) = (place(x, y).split(",") for x in across)
        parts.append(f'<line class="grid" x1="{x1}" x2="{x2}" y1="{at}" y2="{at}"/>'
                     f'<text x="{LEFT - 6}" y="{float(at) + 4:.1f}" text-anchor="end">{y:.4g}</text>')
    for x in xs:
        if across[0] <= x <= across[1]:
            at = place(x, up[0]).split(",")[0]
            parts.append(f'<text x="{at}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:g}</text>')
    return parts


def _drawn(c: Curve, colour: str, place) -> list[str]:
    """The band below the line; a single point is a dot."""
    band = " ".join([*(place(x, y + h) for x, y, h in c), *(place(x, y - h) for x, y, h in reversed(c))])
    line = " ".join(place(x, y) for x, y, _ in c)
    parts = [f'<polygon points="{band}" fill="{colour}" opacity="0.13"/>'] if any(h for _, _, h in c) else []
    if len(c) == 1:
        x, y = line.split(",")
        return [*parts, f'<circle cx="{x}" cy="{y}" r="3" style="fill: {colour}"/>']
    return [*parts, f'<polyline points="{line}" style="stroke: {colour}"/>']
