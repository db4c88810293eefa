"""A chart as a PNG file."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from .chart import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, Drawing

SCALE = 2
INK, RULE, LINE, FAINT, PAPER = "#1c2530", "#dfe4ea", "#1f6feb", "#b9d2f8", "#ffffff"


def write_png(drawing: Drawing, path: Path) -> None:
    """Draw at twice the chart's size in pixels."""
    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
    canvas = ImageDraw.Draw(image)
    small, large = ImageFont.load_default(11 * SCALE), ImageFont.load_default(13 * SCALE)
    canvas.text(_at(LEFT, 18), drawing.title, INK, large, anchor="ls")
    for y, label in drawing.y_ticks:
        canvas.line([_at(LEFT, y), _at(WIDTH - RIGHT, y)], RULE, SCALE)
        canvas.text(_at(LEFT - 6, y), label, INK, small, anchor="rm")
    for x, label in drawing.x_ticks:
        canvas.text(_at(x, HEIGHT - BOTTOM + 18), label, INK, small, anchor="ms")
    for points, faint in sorted(drawing.lines, key=lambda line: not line[1]):
        colour, places = (FAINT if faint else LINE), [_at(*point) for point in points]
        if len(places) == 1:
            canvas.circle(places[0], 3 * SCALE, colour)
        else:
            canvas.line(places, colour, SCALE if faint else 2 * SCALE, joint="curve")
    image.save(path)


def _at(x: float, y: float) -> tuple[float, float]:
    return x * SCALE, y * SCALE
