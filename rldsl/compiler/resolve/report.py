"""What resolving has found so far, and the names that were in reach where it was written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rldsl.diagnostics import Diagnostic, Span, at
from rldsl.diagnostics.suggest import closest
from rldsl.grammar.tree import Let


@dataclass
class Report:
    """Findings in the order they were met; `lets` holds each file's constants by name."""

    found: list[Diagnostic] = field(default_factory=list)
    lets: dict[str, dict[str, Let]] = field(default_factory=dict)

    def add(self, code: str, message: str, span: Span | None, label: str = "", **more) -> None:
        """One more finding at `span`; its texts become whole sentences."""
        texts = {k: sentence(v) if k in ("why", "fix") else v for k, v in more.items()}
        self.found.append(at(code, sentence(message), span, label, **texts))


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return text and text[0].upper() + text[1:] + ("" if text[-1] in ".?!" else ".")


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A remedy that names the nearest candidates, or all of them where none is near and they are few."""
    every = tuple(candidates)
    near = closest(name, every)
    if near:
        return "did you mean " + " or ".join(f"`{n}`" for n in near) + "?"
    return f"one of {', '.join(every)}" if 0 < len(every) <= 40 else ""
