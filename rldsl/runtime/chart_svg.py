"""A chart as SVG, to stand inside an HTML page; colours come from the page's style."""

from __future__ import annotations

from html import escape

from .chart import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, Drawing

STYLE = """
svg.chart { max-width: 100%; height: auto; font: 11px system-ui, sans-serif; }
.chart text { fill: var(--ink); } .chart .title { font-weight: 600; font-size: 13px; }
.chart .grid { stroke: var(--rule); } .chart polyline { fill: none; stroke: var(--line); stroke-width: 2; }
.chart circle { fill: var(--line); } .chart .faint { opacity: 0.35; stroke-width: 1; }
"""


def svg(drawing: Drawing) -> str:
    """One `<svg>` element."""
    parts = [f'<text class="title" x="{LEFT}" y="18">{escape(drawing.title)}</text>']
    for y, label in drawing.y_ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                     f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
    for x, label in drawing.x_ticks:
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(label)}</text>')
    for points, faint in sorted(drawing.lines, key=lambda line: not line[1]):
        name = ' class="faint"' if faint else ""
        if len(points) == 1:
            parts.append(f'<circle{name} cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3"/>')
        else:
            places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline{name} points="{places}"/>')
    label = escape(drawing.title, quote=True)
    return (f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{label}">'
            f"{''.join(parts)}</svg>")
