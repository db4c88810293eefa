"""A finding about things that do not go together: every place underlined, the user's latest text as the main one."""

from __future__ import annotations

from rldsl.diagnostics import Diagnostic, Label, Span
from rldsl.diagnostics.diagnostic import Severity

from .recipe import Recipe

Place = tuple[Span, str]
"""Where something stands, and what to say about it there."""


def clash(code: str, recipe: Recipe, message: str, *places: Place, why: str, fix: str,
          severity: Severity = "error") -> Diagnostic:
    """One finding. Of its places the one that was laid on top last is primary, the first of them on a tie."""
    merged: dict[Span, str] = {}
    for span, text in places:
        merged[span] = f"{merged[span]}; {text}" if span in merged else text
    primary = max(merged, key=lambda span: layer(recipe, span))
    ordered = [primary, *(s for s in merged if s is not primary)]
    labels = [Label(span, merged[span], span is primary) for span in ordered]
    labels += [Label(definition, "defined here") for span in ordered for definition in _definitions(recipe, span)]
    return Diagnostic(code, message, tuple(labels), why, fix, severity)


def layer(recipe: Recipe, span: Span) -> int:
    """The place in `recipe.layers` of what wrote it, behind them all for what a stage takes along; -1 where nobody did
    and a default holds."""
    for history in recipe.origins.values():
        for step in history:
            if step.span and contains(step.span, span):
                wrote = step.how, step.recipe
                return recipe.layers.index(wrote) if wrote in recipe.layers else len(recipe.layers)
    return -1


def contains(outer: Span, inner: Span) -> bool:
    """Whether a region lies inside another one of the same file."""
    return outer.file == inner.file and (outer.line, outer.column) <= (inner.line, inner.column) and (
        inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)


def _definitions(recipe: Recipe, span: Span) -> list[Span]:
    """The `let`s that a value was computed from; a whole choice has too many values to say."""
    if any(span == node.span for node in recipe.nodes()):
        return []
    return list(dict.fromkeys(place for use, place in recipe.lets.items() if contains(span, use)))
