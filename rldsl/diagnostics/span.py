"""Where in a source file something was written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """A half-open region of a file. Lines and columns count from 1; `end_column` is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The region from the start of this span to the end of `other` (same file)."""
        return Span(self.file, self.line, self.column, other.end_line, other.end_column)
