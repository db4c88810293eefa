"""An explanation as one self-contained page: formulas in MathML, the graph as SVG, no script and no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from rldsl.algebra.render_latex import latex
from rldsl.algebra.render_mathml import mathml

from .draw import svg
from .explain import Explanation
from .explain_text import LEGEND
from .role_table import HEAD

CSS = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; max-width: 960px; margin: 2rem auto; padding: 0 1rem }
h1 { margin-bottom: 0 } h2 { margin-top: 2rem; border-bottom: 1px solid #d5dbe3 } .file, .legend { color: #5a6675 }
math { font-size: 1.15em; text-align: left } table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #eef1f5 }
svg text { font: 13px system-ui, sans-serif; text-anchor: middle; fill: #1c2430 } svg .lane { font-weight: 600 }
svg rect { stroke: #42526b; fill: #eef3fa } svg .train rect { fill: #fdf1e3 } svg .control rect { fill: #eef7ee }
svg .gone rect { fill: none; stroke-dasharray: 4 4 } svg .gone text { fill: #8a94a1 }
svg .edge { fill: none; stroke: #9aa7b8 } details { color: #5a6675 } code { white-space: pre-wrap }
@media (prefers-color-scheme: dark) {
  body { background: #12161c; color: #dfe5ec } svg text { fill: #dfe5ec } td, th { border-color: #2a323d }
  svg rect { fill: #1f2a3a } svg .train rect { fill: #3a2c1b } svg .control rect { fill: #1f3323 }
}
"""


def html(e: Explanation) -> str:
    """The page."""
    return page(e.name, [f"<h1>{escape(e.name)}</h1>", *sections(e)])


def page(title: str, body: Iterable[str]) -> str:
    """Parts of HTML as one page."""
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{CSS}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n")


def sections(e: Explanation) -> list[str]:
    """Everything below the title."""
    return [f'<p class="file">{escape(e.file)}</p>', f"<p>{escape(e.doc)}</p>",
            *_objective(e), "<h2>Policies and who reads them</h2>",
            _table([(q.name, q.role, q.versions, q.computed, ", ".join(q.readers)) for q in e.quantities],
                   ("log-prob", "whose it is", "version", "from", "read by")),
            _table(e.pairs), "<h2>Models</h2>", _table(e.models), *_roles(e), "<h2>What one batch does</h2>",
            svg(e.before, e.gone), "<h2>Saved work</h2>", _table((n.source, n.sentence) for n in e.notes),
            "<h2>Batch arithmetic</h2>", _table([*e.batch, *e.ramps]), "<h2>Memory, a first estimate</h2>",
            _table(e.memory)]


def _roles(e: Explanation) -> Iterator[str]:
    """The table of a cluster's roles; nothing where there is no cluster."""
    if e.roles:
        yield "<h2>Roles of the cluster</h2>"
        yield _table((row.cells for row in e.roles), HEAD)


def _objective(e: Explanation) -> Iterator[str]:
    yield "<h2>Objective</h2>"
    yield mathml(e.objective)
    rows = [(p.what, mathml(p.symbol), mathml(p.formula)) for p in e.parts]
    yield "<table>" + "".join(f"<tr><td>{escape(a)}</td><td>{b}</td><td>{c}</td></tr>" for a, b, c in rows) + "</table>"
    kept = [(p.what, mathml(p.formula)) for p in e.keeps]
    yield "<table>" + "".join(f"<tr><td>{escape(a)}</td><td>{b}</td></tr>" for a, b in kept) + "</table>"
    yield f'<p class="legend">{escape(LEGEND)}</p>'
    lines = [f"J = {latex(e.objective)}", *(f"{latex(p.symbol)} = {latex(p.formula)}" for p in e.parts)]
    yield "<details><summary>LaTeX</summary><code>" + escape("\n".join(lines)) + "</code></details>"


def _table(rows: Iterable[tuple[str, ...]], head: tuple[str, ...] = ()) -> str:
    top = "<tr>" + "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}{body}</table>"
