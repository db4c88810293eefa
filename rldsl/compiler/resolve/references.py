"""`length: sampling.max_tokens`: a value that is another parameter's or setting's, replaced by what that one is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rldsl.axes.discover import AXES
from rldsl.axes.types import SameAs
from rldsl.compiler.settings import blocks, keys
from rldsl.grammar.tree import Binary, Call, Constant, Expr, ListExpr, Number, Path, Range, String, Unary

from .fold import Scope, fold
from .merge import Draft
from .override import Parameters, arguments, leaves, of_axis
from .refuse import leaf_name
from .report import Report, did_you_mean


def follow(draft: Draft, report: Report) -> None:
    """Replaces every reference in the draft by its value (RL201 for an unknown one, RL206 for a circle)."""
    references = _References(draft, report)
    for axis, e in draft.axes.items():
        draft.axes[axis] = references.inside(e, axis)
    for block, settings in draft.settings.items():
        for name, e in settings.items():
            settings[name] = references.inside(e, f"{block}.{name}")


@dataclass
class _References:
    draft: Draft
    report: Report
    open: list[str] = field(default_factory=list)

    def inside(self, e: Expr, place: str) -> Expr:
        """`e` without references; a part that cannot be replaced is left, its axis or setting marked as broken."""
        if not _has_path(e):
            return e
        before = len(self.report.found)
        new = fold(self.replaced(e), Scope({}, self.report))
        if len(self.report.found) > before:
            self.draft.broken.add(place)
        return e if new is None else new

    def replaced(self, e: Expr) -> Expr:
        """The same tree with constants for paths."""
        match e:
            case Path():
                return self.value(e) or e
            case Call(args=args):
                return dataclasses.replace(e, args=tuple(
                    dataclasses.replace(a, value=self.replaced(a.value)) for a in args))
            case Binary(left=left, right=right):
                return dataclasses.replace(e, left=self.replaced(left), right=self.replaced(right))
            case Unary(operand=operand):
                return dataclasses.replace(e, operand=self.replaced(operand))
            case ListExpr(items=items):
                return dataclasses.replace(e, items=tuple(self.replaced(x) for x in items))
            case Range(low=low, high=high):
                return dataclasses.replace(e, low=self.replaced(low), high=self.replaced(high))
        return e

    def value(self, path: Path) -> Expr | None:
        """What a path stands for, written where the path is; None once the error is reported."""
        if path.text in self.open:
            ring = " → ".join([*self.open[self.open.index(path.text):], path.text])
            self.report.add("RL206", f"circular reference: {ring}", path.span, "its value needs itself",
                            fix="give one of them a value of its own")
            return None
        found = self.look_up(path)
        if found is None:
            return None
        self.open.append(path.text)
        new = fold(self.replaced(found), Scope({}, self.report))
        self.open.pop()
        return None if new is None else dataclasses.replace(new, span=path.span)

    def look_up(self, path: Path) -> Expr | None:
        """The expression written there, or its default."""
        head, *rest = path.parts
        if head.name in blocks() and len(rest) == 1 and rest[0].name in keys(blocks()[head.name]):
            cls = blocks()[head.name]
            default = next(f.default for f in dataclasses.fields(cls) if f.name == rest[0].name)
            written = self.draft.settings.get(head.name, {}).get(rest[0].name)
            return written or _constant(default, path)
        if head.name in AXES and rest and head.name in self.draft.axes:
            return self.parameter(path, head.name, rest)
        return self.unknown(path, (*AXES, *blocks()) if head.name not in (*AXES, *blocks()) else ())

    def parameter(self, path: Path, axis: str, rest: list) -> Expr | None:
        """A parameter of the one term of an axis that has it."""
        look, *names = of_axis(axis), *(p.name for p in rest)
        terms = [t for t in leaves(self.draft.axes[axis]) if look(t) and names[-1] in look(t).fields
                 and names[:-1] in ([], [leaf_name(t)])]
        if len(terms) != 1:
            return self.unknown(path, {n for t in leaves(self.draft.axes[axis]) if look(t) for n in look(t).fields})
        return _parameter(terms[0], names[-1], look(terms[0]), path)

    def unknown(self, path: Path, near: Any) -> None:
        self.report.add("RL201", f"`{path.text}` is not one value of this recipe", path.span, "unknown",
                        fix=did_you_mean(path.parts[-1].name, near))


def _parameter(term: Expr, name: str, known: Parameters, path: Path) -> Expr | None:
    written: Mapping = arguments(term, lambda _: known)
    default = known.fields[name].default
    if name not in written and isinstance(default, SameAs):
        return _parameter(term, default.field.removesuffix("_"), known, path)
    return written[name].value if name in written else _constant(default, path)


def _constant(default: Any, path: Path) -> Expr | None:
    """A default as it could have been written; a path to something else stays a path, and is refused there."""
    match default:
        case None | bool():
            return Constant(default, path.span)
        case int() | float():
            return Number(default, path.span)
        case str():
            return String(default, path.span)
    return None


def _has_path(e: Expr) -> bool:
    rest = [e]
    while rest:
        match rest.pop():
            case Path():
                return True
            case Call(args=args):
                rest += [a.value for a in args]
            case Binary(left=left, right=right):
                rest += [left, right]
            case Unary(operand=operand):
                rest.append(operand)
            case ListExpr(items=items):
                rest += items
            case Range(low=low, high=high):
                rest += [low, high]
    return False
