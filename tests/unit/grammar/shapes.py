"""Syntax trees without their places, so that two texts can be compared by what they say."""

from dataclasses import fields, is_dataclass

from rldsl.diagnostics import Span
from rldsl.grammar.parser import parse


def shape(node):
    """A tree as nested tuples; spans left out."""
    if isinstance(node, Span):
        return None
    if is_dataclass(node):
        return (type(node).__name__, *(shape(getattr(node, f.name)) for f in fields(node)))
    return tuple(map(shape, node)) if isinstance(node, tuple) else node


def parsed(text: str):
    """The tree of a text that must have no errors."""
    file, diagnostics = parse(text, "test.rl")
    assert not diagnostics, diagnostics
    return file


def codes(text: str) -> list[tuple[str, int, int]]:
    """(code, line, column) of every diagnostic."""
    return [(d.code, d.position[1], d.position[2]) for d in parse(text, "test.rl")[1]]
