"""Diagnostics as plain data: the project's own JSON form, and SARIF 2.1.0 for code-scanning services."""

from __future__ import annotations

from collections.abc import Sequence

from .diagnostic import Diagnostic, Label

SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def as_json(diagnostic: Diagnostic) -> dict:
    """One entry of `{"version": 1, "diagnostics": […]}`; lines and columns count from 1, ends are exclusive."""
    return {"code": diagnostic.code, "severity": diagnostic.severity, "message": diagnostic.message,
            "spans": [_span(label) for label in diagnostic.labels], "why": diagnostic.why, "fix": diagnostic.fix}


def _span(label: Label) -> dict:
    span = label.span
    return {"file": span.file, "start": [span.line, span.column], "end": [span.end_line, span.end_column],
            "label": label.text, "primary": label.primary}


def as_sarif(diagnostics: Sequence[Diagnostic]) -> dict:
    """A SARIF log with one run."""
    codes = sorted({d.code for d in diagnostics})
    driver = {"name": "rldsl", "rules": [{"id": code} for code in codes]}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints",
                      "results": [_result(d, codes.index(d.code)) for d in diagnostics]}]}


def _result(diagnostic: Diagnostic, rule: int) -> dict:
    text = " ".join(part for part in (diagnostic.message, diagnostic.why, diagnostic.fix) if part)
    result = {"ruleId": diagnostic.code, "ruleIndex": rule, "level": SARIF_LEVELS[diagnostic.severity],
              "message": {"text": text}}
    primary = [label for label in diagnostic.labels if label.primary] or list(diagnostic.labels[:1])
    others = [label for label in diagnostic.labels if label not in primary]
    if primary:
        result["locations"] = [_location(label) for label in primary]
    if others:
        result["relatedLocations"] = [{"id": i, **_location(label), "message": {"text": label.text}}
                                      for i, label in enumerate(others)]
    return result


def _location(label: Label) -> dict:
    from urllib.parse import quote

    span = label.span
    return {"physicalLocation": {
        "artifactLocation": {"uri": quote(span.file.replace("\\", "/"))},
        "region": {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line,
                   "endColumn": span.end_column}}}
