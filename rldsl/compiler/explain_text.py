"""An explanation for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rldsl.algebra.render_unicode import unicode

from .draw import tree
from .explain import Explanation
from .role_table import HEAD

LEGEND = ("exp± bounds its argument to ±20 first; sg(x) has x's value and no gradient; 1[…] is 1 or 0; "
          "Σ_t runs over all action tokens of the update")


def text(e: Explanation) -> str:
    """The whole explanation, in sections."""
    blocks = [[f"{e.name}  ({e.file})", *([e.doc] if e.doc else [])], list(_objective(e)), list(_forwards(e)),
              ["Models", *_table(e.models)], *_roles(e),
              ["What one batch does", *_indent(tree(e.before, e.gone).split("\n"))],
              ["Saved work", *_indent(_notes(e))], ["Batch arithmetic", *_table([*e.batch, *e.ramps])],
              ["Memory, a first estimate", *_table(e.memory)]]
    return "\n\n".join("\n".join(b) for b in blocks)


def _objective(e: Explanation) -> Iterator[str]:
    yield "Objective (maximised)"
    yield f"  J = {unicode(e.objective)}"
    yield ""
    width = max(len(unicode(p.symbol)) for p in e.parts)
    for p in e.parts:
        yield f"  {unicode(p.symbol):<{width}} = {unicode(p.formula)}    ({p.what})"
    for p in e.keeps:
        yield f"  {p.what} where {unicode(p.formula)}"
    yield f"  {LEGEND}"


def _roles(e: Explanation) -> list[list[str]]:
    """The table of a cluster's roles; nothing where there is no cluster."""
    return [["Roles of the cluster", *columns([HEAD, *(row.cells for row in e.roles)])]] if e.roles else []


def _forwards(e: Explanation) -> Iterator[str]:
    yield "Policies and who reads them (v: the trainer's weight version at the batch's start)"
    rows = [(q.name, q.role, q.versions, q.computed, f"read by {', '.join(q.readers)}") for q in e.quantities]
    yield from columns(rows)
    for what, pair in e.pairs:
        yield f"  {what}: {pair}"


def _notes(e: Explanation) -> list[str]:
    return [f"{n.source}: {n.sentence}" for n in e.notes] or ["nothing could be left out"]


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    return columns(list(rows))


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of cells below one another, indented."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        yield "  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()


def _indent(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
