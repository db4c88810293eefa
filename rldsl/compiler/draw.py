"""Drawings of a graph: a tree for the terminal, Mermaid for Markdown, SVG for a page."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from .graph import INPUTS, Graph, Node

LANES = ("rollout", "control", "train")
COLUMN, ROW, WIDTH, HEIGHT = 230, 62, 190, 40
"""Pixels: distance between lanes and between rows, and the size of a box."""


def tree(graph: Graph, gone: Mapping[str, str] | None = None) -> str:
    """One line a node, in order; `gone` maps the ids of removed nodes to the pass that removed them."""
    gone = gone or {}
    width = max((len(n.id) for n in graph.nodes), default=0)
    lines = ["batch"]
    for i, n in enumerate(graph.nodes):
        branch = "└─" if i == len(graph.nodes) - 1 else "├─"
        tail = f"removed by {gone[n.id]}" if n.id in gone else _flow(n)
        lines.append(f"{branch} {n.id:<{width}}  {n.engine:<7}  {tail}".rstrip())
    return "\n".join(lines)


def _flow(n: Node) -> str:
    written = f" → {', '.join(n.writes)}" if n.writes else ""
    return f"{', '.join(n.reads)}{written}"


def edges(graph: Graph) -> list[tuple[str, str, str]]:
    """(writer, reader, fields) for every pair of nodes with something between them; the last writer counts."""
    writer: dict[str, str] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for n in graph.nodes:
        for name in n.reads:
            if name in writer:
                found.setdefault((writer[name], n.id), []).append(name)
        writer |= dict.fromkeys(n.writes, n.id)
    return [(a, b, ", ".join(names)) for (a, b), names in found.items()]


def mermaid(graph: Graph) -> str:
    """A Mermaid flowchart with one subgraph per engine."""
    lines = ["flowchart TD"]
    for engine in LANES:
        members = [n for n in graph.nodes if n.engine == engine]
        if members:
            lines += [f"  subgraph {engine}", *(f"    {_key(n.id)}[{n.id}]" for n in members), "  end"]
    inputs = [name for name in INPUTS if any(name in n.reads for n in graph.nodes)]
    lines += [f"  {_key(name)}([{name}])" for name in inputs]
    known: set[str] = set()
    for n in graph.nodes:
        lines += [f"  {_key(name)} --> {_key(n.id)}" for name in n.reads if name in inputs and name not in known]
        known |= set(n.writes)
    lines += [f"  {_key(a)} -- {names} --> {_key(b)}" for a, b, names in edges(graph)]
    return "\n".join(lines) + "\n"


def _key(id: str) -> str:
    return id.replace(".", "_")


def svg(graph: Graph, gone: Mapping[str, str] | None = None) -> str:
    """The graph as lanes of boxes, one lane per engine, top to bottom in order; removed nodes are dashed."""
    gone = gone or {}
    at = {n.id: (LANES.index(n.engine) * COLUMN + 20, 40 + row * ROW) for row, n in enumerate(graph.nodes)}
    height = 50 + len(graph.nodes) * ROW
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * COLUMN + 20} {height}" '
             f'width="{3 * COLUMN + 20}" role="img" aria-label="what one batch does">']
    parts += [f'<text class="lane" x="{i * COLUMN + 20 + WIDTH / 2}" y="22">{lane}</text>'
              for i, lane in enumerate(LANES)]
    parts += [_line(at[a], at[b], names) for a, b, names in edges(graph) if a not in gone and b not in gone]
    parts += [_box(n, *at[n.id], gone.get(n.id)) for n in graph.nodes]
    return "\n".join([*parts, "</svg>"])


def _line(a: tuple[int, int], b: tuple[int, int], names: str) -> str:
    """A curve between facing sides; in one lane straight down to the next row, or out to the right around others."""
    middle = HEIGHT / 2
    if a[0] != b[0]:
        right = a[0] < b[0]
        x1, x2 = (a[0] + WIDTH, b[0]) if right else (a[0], b[0] + WIDTH)
        pull = 40 if right else -40
        path = f"M{x1} {a[1] + middle} C{x1 + pull} {a[1] + middle} {x2 - pull} {b[1] + middle} {x2} {b[1] + middle}"
    elif b[1] - a[1] <= ROW:
        path = f"M{a[0] + WIDTH / 2} {a[1] + HEIGHT} L{b[0] + WIDTH / 2} {b[1]}"
    else:
        x = a[0] + WIDTH
        path = f"M{x} {a[1] + middle} C{x + 28} {a[1] + middle} {x + 28} {b[1] + middle} {x} {b[1] + middle}"
    return f'<path class="edge" d="{path}"><title>{escape(names)}</title></path>'


def _box(n: Node, x: int, y: int, removed: str | None) -> str:
    kind = "gone" if removed else n.engine
    title = f"removed by {removed}" if removed else _flow(n)
    label = f"{n.id} ({removed})" if removed else n.id
    return (f'<g class="{kind}"><title>{escape(title)}</title><rect x="{x}" y="{y}" width="{WIDTH}" '
            f'height="{HEIGHT}" rx="6"/><text x="{x + WIDTH / 2}" y="{y + HEIGHT / 2 + 5}">{escape(label)}</text></g>')
