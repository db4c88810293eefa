"""RL110: one name defined twice. Both places are shown."""

from __future__ import annotations

from collections.abc import Iterable

from rldsl.diagnostics import Diagnostic, Span, at

from . import tree

Definition = tuple[object, str, Span]
"""(key, what it is in words, where)."""


def find_duplicates(statements: Iterable[tree.Statement]) -> list[Diagnostic]:
    """Every second definition in a file: top-level names, and what a body may say only once."""
    statements = list(statements)
    found = _repeated([(s.name, f"`{s.name}`", s.name_span) for s in statements if not isinstance(s, tree.Import)])
    for statement in statements:
        found += _inside(statement)
    return found


def _inside(node: object) -> list[Diagnostic]:
    match node:
        case tree.Recipe(body=body) | tree.Profile(body=body) | tree.Stage(body=body):
            return _repeated(_item(i) for i in body) + [d for item in body for d in _inside(item)]
        case tree.Block(entries=entries) | tree.Ablate(options=entries):
            return _repeated((e.key, f"`{e.key}`", e.key_span) for e in entries if e.key is not None)
        case tree.Pipeline(stages=stages):
            return _repeated((s.name, f"stage `{s.name}`", s.name_span) for s in stages) \
                + [d for stage in stages for d in _inside(stage)]
        case tree.Sweep(dimensions=dimensions, options=entries):
            return _repeated((p.text, f"`{p.text}`", p.span) for d in dimensions for p in d.paths) \
                + _repeated((e.key, f"`{e.key}`", e.key_span) for e in entries)
    return []


def _item(item: tree.Assign | tree.Block | tree.Profile) -> Definition:
    match item:
        case tree.Assign(target=target):
            return target.text, f"`{target.text}`", target.span
        case tree.Block(name=name, name_span=span):
            return ("block", name), f"block `{name}`", span
        case tree.Profile(name=name, name_span=span):
            return ("profile", name), f"profile `{name}`", span


def _repeated(definitions: Iterable[Definition]) -> list[Diagnostic]:
    first: dict[object, Span] = {}
    found = []
    for key, what, span in definitions:
        if key in first:
            found.append(at("RL110", f"{what} is defined twice", span, "defined again here",
                            also=((first[key], "first defined here"),), fix="keep one of them, or rename one"))
        else:
            first[key] = span
    return found
