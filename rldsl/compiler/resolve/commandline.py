"""`--set axis.param=value`: the language's own paths and expressions, as a virtual file of one line each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from rldsl.diagnostics import RecipeError, Span
from rldsl.grammar.parser import parse_expression, parse_path
from rldsl.grammar.tree import Assign

from .report import Report

FILE = "--set"


def assignments(sets: Sequence[str], report: Report) -> tuple[Assign, ...]:
    """One assignment per `--set`; its place is line n of the file "--set"."""
    found = []
    for line, text in enumerate(sets, 1):
        left, equals, right = text.partition("=")
        if not equals:
            report.add("RL101", "`--set` takes path=value", Span(FILE, line, 1, line, len(text) + 1), "no `=`",
                       fix="write --set gate.high=0.3")
            continue
        target = _part(parse_path, left, line, 0, report)
        value = _part(parse_expression, right, line, len(left) + 1, report)
        if target is not None and value is not None:
            found.append(Assign(target, value, Span(FILE, line, 1, line, len(text) + 1)))
    return tuple(found)


def _part(parse: Callable, text: str, line: int, column: int, report: Report) -> Any:
    """One side of the `=`, in its place; None once its errors are reported."""
    try:
        return moved(parse(text, FILE), line, column)
    except RecipeError as error:
        report.found += [moved(d, line, column) for d in error.diagnostics]
        return None


def moved(node: Any, line: int, column: int) -> Any:
    """The same tree with every span moved down to `line` and right by `column`."""
    if isinstance(node, Span):
        return Span(node.file, node.line + line - 1, node.column + column, node.end_line + line - 1,
                    node.end_column + column)
    if isinstance(node, tuple):
        return tuple(moved(x, line, column) for x in node)
    if dataclasses.is_dataclass(node):
        return dataclasses.replace(node, **{f.name: moved(getattr(node, f.name), line, column)
                                            for f in dataclasses.fields(node)})
    return node


