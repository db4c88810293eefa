"""Runs picked by how they stand, by fingerprint, and by what their recipe says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.resolve.condition import Condition
from rldsl.compiler.resolve.fold import Scope
from rldsl.compiler.resolve.report import Report
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.grammar.parser import parse_expression
from rldsl.grammar.tree import Binary, Expr

from .registry import Entry

WHERE = "--where"
ABSENT = "RL207"


def condition(texts: Sequence[str]) -> Expr | None:
    """The conditions joined by `and`; None without any. RecipeError where one cannot be read."""
    parts = [parse_expression(text, WHERE) for text in texts]
    return reduce(lambda a, b: Binary("and", a, b, a.span.to(b.span)), parts) if parts else None


def select(entries: Iterable[Entry], *, where: Expr | None = None, fingerprint: str = "",
           status: str = "") -> list[Entry]:
    """Those that fit everything asked for. `fingerprint` is the beginning of any of a run's four.

    RecipeError where the condition has no meaning, or names a parameter that no run has.
    """
    absent: list[list[Diagnostic]] = []
    found = []
    for entry in entries:
        if status and entry.status != status:
            continue
        if not any(value.startswith(fingerprint) for value in entry.fingerprints.values()):
            continue
        if where is None or _fits(entry, where, absent):
            found.append(entry)
    if absent and all(absent):
        raise RecipeError(absent[0])
    return found


def _fits(entry: Entry, where: Expr, absent: list[list[Diagnostic]]) -> bool:
    report = Report()
    try:
        recipe = from_canonical(entry.recipe)
    except RecipeError:
        return False  # made with another version of a choice: it cannot be asked
    holds = Condition(where, Scope({}, report), report).holds(recipe)
    if any(d.code != ABSENT for d in report.found):
        raise RecipeError(report.found)
    absent.append(report.found)
    return holds
