"""An explanation as JSON data."""

from __future__ import annotations

from typing import Any

from rldsl.algebra.expr import Expr
from rldsl.algebra.render_latex import latex
from rldsl.algebra.render_unicode import unicode

from . import graph
from .draw import mermaid
from .explain import Explanation, Part


def to_json(e: Explanation) -> dict[str, Any]:
    """Every section of the explanation; formulas in Unicode and LaTeX."""
    return {
        "name": e.name, "file": e.file, "doc": e.doc, "objective": _formula(e.objective),
        "parts": [_part(p) for p in e.parts], "keeps": [_part(p) for p in e.keeps], "pairs": dict(e.pairs),
        "quantities": [{**vars(q), "readers": list(q.readers)} for q in e.quantities], "models": dict(e.models),
        "graph": graph.to_json(e.after), "mermaid": mermaid(e.after), "removed": dict(e.gone),
        "roles": [vars(row) for row in e.roles],
        "passes": [{"pass": n.source, "says": n.sentence, "removed": list(n.removed)} for n in e.notes],
        "batch": dict(e.batch), "ramps": dict(e.ramps), "memory": dict(e.memory)}


def _formula(e: Expr) -> dict[str, str]:
    return {"unicode": unicode(e), "latex": latex(e)}


def _part(p: Part) -> dict[str, Any]:
    return {"what": p.what, "symbol": unicode(p.symbol), **_formula(p.formula)}
