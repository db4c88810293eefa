"""What the compiler has to say about a recipe; knows nothing of how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .span import Span

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Label:
    """One underlined place. The user's own text is primary, what it clashes with secondary."""

    span: Span
    text: str = ""
    primary: bool = False


@dataclass(frozen=True)
class Diagnostic:
    """One finding: what is wrong, where, why it matters (the mechanism), and what to write instead."""

    code: str
    message: str
    labels: tuple[Label, ...] = ()
    why: str = ""
    fix: str = ""
    severity: Severity = "error"

    @property
    def primary(self) -> Span | None:
        """The place that is underlined as the main one; None where the finding has no place."""
        spans = [label.span for label in self.labels if label.primary] or [x.span for x in self.labels]
        return spans[0] if spans else None

    @property
    def position(self) -> tuple:
        """Sort key: file order, by the primary place."""
        place = self.primary
        return (place.file, place.line, place.column, self.code) if place else ("", 0, 0, self.code)


class RecipeError(Exception):
    """Carries every diagnostic found; raised where work cannot go on with a wrong recipe."""

    def __init__(self, diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]):
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: d.position))
        super().__init__("; ".join(f"{d.code} {d.message}" for d in self.diagnostics))

    def __reduce__(self) -> tuple[type[RecipeError], tuple[tuple[Diagnostic, ...]]]:
        """Errors travel between processes with what they say."""
        return RecipeError, (self.diagnostics,)


def at(code: str, message: str, span: Span | None, label: str = "", *, also: tuple[tuple[Span, str], ...] = (),
       why: str = "", fix: str = "", severity: Severity = "error") -> Diagnostic:
    """A diagnostic at one primary span, with secondary places in `also`; its texts become whole sentences."""
    labels = (Label(span, label, True),) if span else ()
    places = labels + tuple(Label(s, t) for s, t in also if s)
    return Diagnostic(code, sentence(message), places, sentence(why), sentence(fix), severity)


def sentence(text: str) -> str:
    """With a capital and a full stop, except that a path or a dotted name keeps its first letter; "" stays empty."""
    if not text:
        return text
    name = any(c in text.split(maxsplit=1)[0][:-1] for c in "./\\_=")
    return (text[0] if name else text[0].upper()) + text[1:] + ("" if text[-1] in ".?!…" else ".")
