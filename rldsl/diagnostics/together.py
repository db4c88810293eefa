"""Findings of one kind at one place are one finding: the same mistake, seen from several sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from .diagnostic import Diagnostic, Label, Severity
from .span import Span

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The worst first."""


def together(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings in their order, where those that share a code and the place that they underline are one, as severe
    as the worst of them; so are equal findings without a place."""
    groups: dict[object, list[Diagnostic]] = {}
    for d in dict.fromkeys(found):
        groups.setdefault((d.code, d.primary) if d.primary else d, []).append(d)
    return [_one(group) for group in groups.values()]


def _one(group: list[Diagnostic]) -> Diagnostic:
    """What all of them say, each sentence once."""
    if len(group) == 1:
        return group[0]
    texts: dict[Span, dict[str, None]] = {}
    for label in (label for d in group for label in d.labels):
        texts.setdefault(label.span, {})[label.text] = None
    labels = tuple(Label(span, "; ".join(filter(None, said)), span == group[0].primary) for span, said in texts.items())
    message, why, fix = (" ".join(dict.fromkeys(getattr(d, part) for d in group if getattr(d, part)))
                         for part in ("message", "why", "fix"))
    severity = min((d.severity for d in group), key=SEVERITIES.index)
    return dataclasses.replace(group[0], message=message, labels=labels, why=why, fix=fix, severity=severity)
