"""The merged blocks become typed `Settings`."""

from __future__ import annotations

import dataclasses
from typing import Any

from rldsl.compiler.settings import Cluster, Settings, Task, bare_field, blocks, hints
from rldsl.compiler.typehints import is_choice, members
from rldsl.diagnostics import Span
from rldsl.grammar.tree import Call, Constant, Expr, ListExpr, Name, Number, String

from .fold import describe
from .report import Report
from .values import INVALID, bind, typed


def settings(written: dict[str, dict[str, Expr]], broken: set[str], report: Report) -> Settings | None:
    """Every block with its defaults; None once an error is reported (RL201–205, 209).

    `broken` holds the paths of settings whose error is already reported.
    """
    sound = {block: {k: e for k, e in entries.items() if f"{block}.{k}" not in broken}
             for block, entries in written.items()}
    made = {name: _block(name, cls, sound.get(name, {}), report) for name, cls in blocks().items()}
    return None if None in made.values() else Settings(**made)


def _block(block: str, cls: type, written: dict[str, Expr], report: Report) -> Any:
    bare = bare_field(cls)
    values: dict[str, Any] = {}
    for key, e in written.items():
        hint = hints(cls)[key]
        if bare and key == bare[0] and members(hint) is not None:
            values[key] = _several(e, members(hint), block, report)
        else:
            values[key] = typed(e, hint, f"{block}.{key}" if not bare or key != bare[0] else block, report)
    if INVALID in values.values():
        return None
    made = cls(**values)
    if isinstance(made, Cluster) and made.where is None and made.nodes is None:
        last = max((e.span for e in written.values()), key=lambda s: (s.line, s.column))
        report.add("RL202", "a cluster needs `nodes`", last, "how many machines?", fix="write nodes: 1, or local alone")
        return None
    return made


def _several(e: Expr, of: Any, block: str, report: Report) -> Any:
    """The bare entries of a block that takes several: evaluation tasks, or choices of one kind."""
    items = e.items if isinstance(e, ListExpr) else (e,)
    made = [typed(x, of, block, report) if is_choice(of) else _task(x, report) for x in items]
    first: dict[str, Span] = {}
    for entry, x in zip(made, items, strict=True):
        if entry is not INVALID and first.setdefault(entry.name, x.span) is not x.span:
            report.add("RL110", f"`{entry.name}` stands twice in `{block}`", x.span, "the second time",
                       also=((first[entry.name], "the first time"),), fix="keep one of them")
            return INVALID
    return INVALID if INVALID in made else tuple(made)


def _task(e: Expr, report: Report) -> Any:
    match e:
        case Name(name) | String(name):
            return Task(name)
        case Call(name, args, span):
            return _called(name, args, span, report)
        case Number() | Constant() | _:
            report.add("RL203", f"an evaluation names a task, not {describe(e)}", e.span, "no task",
                       fix='write a name or a text: gsm8k(samples: 4), "toy:addition"')
            return INVALID


def _called(name: str, args: tuple, span: Span, report: Report) -> Any:
    fields = {f.name: f for f in dataclasses.fields(Task) if f.name != "name"}
    given, ok = bind(fields, 0, args, span, name, report)
    values = {n: typed(a.value, hints(Task)[n], f"{name}.{n}", report) for n, a in given.items()}
    return Task(name, **values) if ok and INVALID not in values.values() else INVALID
