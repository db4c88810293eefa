"""Where every value comes from: default → base → child → profile → `--set`, oldest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rldsl.compiler.recipe import Origin
from rldsl.diagnostics import Span
from rldsl.grammar.tree import Binary, Constant, Expr, Number, String, Unary

Key = tuple[str | int, ...]
"""An axis or block, then what is inside it: ("gate", "clip", 1, "high"), ("model", "policy")."""


@dataclass
class Trail:
    """The history of every written value. `texts` holds the lines of each file."""

    texts: Mapping[str, list[str]]
    steps: dict[Key, list[Origin]] = field(default_factory=dict)

    def note(self, key: Key, how: str, e: Expr, span: Span, recipe: str) -> None:
        """A value was set; the same text at the same place is no new step."""
        history = self.steps.setdefault(key, [])
        if not history or history[-1].span != span:
            history.append(Origin(how, self.text(e, span), span, recipe))

    def reset(self, key: Key, how: str, default: str, span: Span, recipe: str) -> None:
        """What surrounded a value was replaced, so that its default holds again."""
        history = self.steps.get(key)
        if history and history[-1].span != span:
            history.append(Origin(how, default, span, recipe))

    def text(self, e: Expr, span: Span) -> str:
        """What was written, and its value where that takes computing."""
        written = source(self.texts.get(span.file, []), span)
        computed = isinstance(e, (Number, String, Constant)) and not _literal(e, written)
        return f"{written} = {plain(e)}" if computed and written else written or plain(e)


def _literal(e: Expr, written: str) -> bool:
    if isinstance(e, Number):
        return written.lstrip("-+ ")[:1].isdigit() and not set(written) & set(" */")
    return (isinstance(e, String) and written.startswith('"')) or written in ("true", "false", "none")


def source(lines: list[str], span: Span) -> str:
    """The text of a region, its line breaks as single spaces."""
    part = lines[span.line - 1:span.end_line]
    if not part:
        return ""
    part[-1] = part[-1][:span.end_column - 1]
    part[0] = part[0][span.column - 1:]
    return " ".join(line.strip() for line in part)


def plain(e: Expr) -> str:
    """A constant as it could be written."""
    match e:
        case Number(value):
            return f"{value:g}" if isinstance(value, float) else str(value)
        case String(value):
            return f'"{value}"'
        case Constant(value):
            return "none" if value is None else str(value).lower()
        case Unary() | Binary():
            return "…"
    return ""
