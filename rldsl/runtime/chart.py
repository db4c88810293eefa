"""Line charts: what is drawn where. `chart_svg` and `chart_png` only put it on paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 480, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 30
MOST_POINTS = 1000
TICKS = 5

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """One line: (x, y) in order of x. Points that are not finite interrupt it. `faint` stands behind the
    others."""

    points: tuple[Point, ...]
    faint: bool = False


@dataclass(frozen=True)
class Drawing:
    """A chart in pixels of a WIDTH × HEIGHT sheet, y downwards: polylines with their faintness, and axis
    labels."""

    title: str
    lines: tuple[tuple[tuple[Point, ...], bool], ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def draw(title: str, series: Sequence[Series]) -> Drawing | None:
    """Lay out a chart; None if there is not one finite point."""
    points = [p for s in series for p in s.points if math.isfinite(p[1])]
    if not points:
        return None
    x_low, x_high = _range([x for x, _ in points])
    y_low, y_high = _range([y for _, y in points])
    y_marks = ticks(y_low, y_high)
    y_low, y_high = min(y_low, y_marks[0]), max(y_high, y_marks[-1])

    def across(x: float) -> float:
        return LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def down(y: float) -> float:
        return HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    lines = tuple((tuple((across(x), down(y)) for x, y in piece), s.faint)
                  for s in series for piece in _pieces(_thinned(s.points)))
    return Drawing(title, lines, tuple((across(x), f"{x:g}") for x in ticks(x_low, x_high) if x_low <= x <= x_high),
                   tuple((down(y), f"{y:.4g}") for y in y_marks))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart), about five, that cover low..high."""
    raw = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    apart = next(power * step for step in (1, 2, 5, 10) if power * step >= raw * 0.8)
    first, last = math.floor(low / apart + 1e-9), math.ceil(high / apart - 1e-9)
    return [number * apart for number in range(first, last + 1)]


def smoothed(points: Sequence[Point]) -> tuple[Point, ...]:
    """The running mean of y, over a tenth of the points with most weight on the latest; only finite ones
    count."""
    weight = min(1.0, 2 / (1 + max(1.0, len(points) / 10)))
    kept, mean = [], None
    for x, y in points:
        if math.isfinite(y):
            mean = y if mean is None else mean + weight * (y - mean)
            kept.append((x, mean))
    return tuple(kept)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Lowest and highest, opened where they are the same (or too near for floats to be divided between
    them)."""
    low, high = min(values), max(values)
    room = 1e-9 * max(abs(low), abs(high))
    if high - low > room:
        return low, high
    half = abs(low) / 2 or 0.5
    return low - half, high + half


def _pieces(points: Sequence[Point]) -> list[list[Point]]:
    pieces: list[list[Point]] = [[]]
    for point in points:
        if math.isfinite(point[1]):
            pieces[-1].append(point)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _thinned(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """At most MOST_POINTS of them, the last always among them."""
    every = -(-len(points) // MOST_POINTS)
    return points if every <= 1 else (*points[:-1:every], points[-1])
