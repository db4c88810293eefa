"""What resolving has found so far, and the names that were in reach where it was written."""

from __future__ import annotations

from dataclasses import dataclass, field

from rldsl.diagnostics import Diagnostic, Span, at
from rldsl.diagnostics.suggest import did_you_mean
from rldsl.grammar.tree import Let

__all__ = ["Report", "did_you_mean"]


@dataclass
class Report:
    """Findings in the order they were met; `lets` holds each file's constants by name."""

    found: list[Diagnostic] = field(default_factory=list)
    lets: dict[str, dict[str, Let]] = field(default_factory=dict)

    def add(self, code: str, message: str, span: Span | None, label: str = "", **more) -> None:
        """One more finding at `span`."""
        self.found.append(at(code, message, span, label, **more))
