"""The constants of a file that nothing in it uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from rldsl.diagnostics import Span
from rldsl.grammar.tree import File, Let, Name


def unused(file: File) -> Mapping[str, Span]:
    """{name: where it is defined} of each `let` that no recipe, sweep or used `let` of its file mentions."""
    lets = {s.name: s for s in file.statements if isinstance(s, Let)}
    rest = [s for s in file.statements if not isinstance(s, Let)]
    used: set[str] = set()
    while rest:
        new = {name for name in _names(rest.pop()) if name in lets} - used
        used |= new
        rest += [lets[name].value for name in new]
    return {name: let.name_span for name, let in lets.items() if name not in used}


def _names(tree: Any) -> Iterator[str]:
    """Every name in a part of the tree."""
    rest = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, Name):
            yield node.id
        elif isinstance(node, tuple):
            rest += node
        elif dataclasses.is_dataclass(node) and not isinstance(node, Span):
            rest += (getattr(node, f.name) for f in dataclasses.fields(node))
