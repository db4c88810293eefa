"""Shows diagnostics: for people at a terminal, one line each, or as JSON and SARIF for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Literal

from .diagnostic import Diagnostic
from .machine import as_json, as_sarif
from .terminal import printable, show

Style = Literal["terminal", "concise", "json", "sarif"]


def render(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], style: Style = "terminal",
           color: bool = False) -> str:
    """The diagnostics in file order, each once, without a final newline.

    `sources` maps a span's file to its text; a place in a file without text is named but not drawn. `color` adds
    ANSI colours to the terminal style alone.
    """
    ordered = in_order(diagnostics)
    if style == "terminal":
        return "\n\n".join(show(d, sources, color) for d in ordered)
    if style == "concise":
        return "\n".join(_concise(d) for d in ordered)
    payload = as_sarif(ordered) if style == "sarif" else {"version": 1, "diagnostics": [as_json(d) for d in ordered]}
    return json.dumps(payload, indent=2, ensure_ascii=False)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sorted by the primary place, exact repetitions dropped."""
    return sorted(dict.fromkeys(diagnostics), key=lambda d: d.position)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`, or an empty text when there is nothing to count."""
    severities = [d.severity for d in in_order(diagnostics)]
    counts = [(severities.count(kind), word) for kind, word in (("error", "error"), ("warning", "warning"),
                                                               ("info", "note"))]
    return ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n)


def _concise(diagnostic: Diagnostic) -> str:
    text = printable(f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}")
    file, line, column, _ = diagnostic.position
    return f"{printable(file)}:{line}:{column}: {text}" if file else text
