"""`gate.high = 0.3`: one parameter of one choice inside an axis's expression is set or replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rldsl.axes import discover
from rldsl.axes.choice import Choice
from rldsl.compiler.settings import Task, hints
from rldsl.compiler.typehints import is_choice, options
from rldsl.diagnostics import Span
from rldsl.grammar.tree import Argument, Binary, Call, Expr, ListExpr, Name, PathPart

from .refuse import leaf_name
from .report import Report, did_you_mean

JOINS = ("+", "*", "|", "on")


@dataclass(frozen=True)
class Parameters:
    """What a term may be given: its fields by name, how many stand without a name, and which are choices."""

    fields: Mapping[str, dataclasses.Field]
    positional: int
    nested: Mapping[str, str]

    def index(self, argument: Argument, place: int) -> str | None:
        """The parameter an argument is for."""
        order = list(self.fields)[:self.positional]
        return argument.name or (order[place] if place < len(order) else None)


Look = Callable[[Expr], Parameters | None]
"""From a term as written to its parameters; None where the term is unknown."""


def of_axis(axis: str) -> Look:
    """The parameters of the choices of one axis."""
    def look(e: Expr) -> Parameters | None:
        cls = discover.find(axis, leaf_name(e) or "")
        return parameters(cls) if cls else None
    return look


def of_task(e: Expr) -> Parameters:
    """The parameters of an evaluation task: the same for every task."""
    return Parameters({f.name: f for f in dataclasses.fields(Task) if f.name != "name"}, 0, {})


def parameters(cls: type[Choice]) -> Parameters:
    """The parameters of a choice by their name in the language."""
    fields = {f.name.removesuffix("_"): f for f in dataclasses.fields(cls)}
    nested = {name: base.axis for name, f in fields.items() for base, _ in options(hints(cls)[f.name])
              if is_choice(base)}
    return Parameters(fields, cls.positional, nested)


def leaves(e: Expr) -> list[Expr]:
    """The terms of an axis's expression, in written order; numbers and the like are none."""
    found, rest = [], [e]
    while rest:
        node = rest.pop()
        if isinstance(node, Binary) and node.op in JOINS:
            rest += [node.right, node.left]
        elif isinstance(node, ListExpr):
            rest += reversed(node.items)
        elif leaf_name(node) is not None:
            found.append(node)
    return found


def substitute(e: Expr, old: Expr, new: Expr) -> Expr:
    """`e` with the one term `old` (by identity) replaced."""
    if e is old:
        return new
    if isinstance(e, ListExpr):
        return dataclasses.replace(e, items=tuple(substitute(x, old, new) for x in e.items))
    spine: list[Binary] = []
    while isinstance(e, Binary):
        spine.append(e)
        e = e.left
    if not spine:
        return e
    e = substitute(e, old, new)
    for node in reversed(spine):
        e = dataclasses.replace(node, left=e, right=substitute(node.right, old, new))
    return e


def arguments(leaf: Expr, look: Look) -> dict[str, Argument]:
    """What is written at a term, by parameter."""
    known = look(leaf)
    if not isinstance(leaf, Call) or known is None:
        return {}
    named = ((known.index(a, i), a) for i, a in enumerate(leaf.args))
    return {name: a for name, a in named if name in known.fields}


@dataclass
class Override:
    """One dotted statement: `shown` is its path as written, `parts` what follows the axis or block."""

    shown: str
    value: Expr
    span: Span
    report: Report

    def apply(self, e: Expr, parts: tuple[PathPart, ...], look: Look) -> Expr:
        """`e` with the override made; unchanged once RL207 is reported."""
        terms = leaves(e)
        if any(look(t) is None for t in terms):
            return e  # an unknown choice is reported where it stands
        picked = self.pick(terms, parts, look)
        if picked is None:
            return e
        term, rest = picked
        new = self.inside(term, rest, look(term))
        return e if new is None else substitute(e, term, new)

    def pick(self, terms: list[Expr], parts: tuple[PathPart, ...], look: Look) -> tuple[Expr, tuple] | None:
        """The one term that is meant, and what is left of the path."""
        head = parts[0]
        named = [t for t in terms if leaf_name(t) == head.name]
        if named and len(parts) > 1:
            return self.nth(named, head, parts[1:])
        having = [t for t in terms if head.name in look(t).fields]
        if len(having) == 1:
            return having[0], parts
        if len(having) > 1:
            longer = dict.fromkeys(f"{leaf_name(t)}{_place(having, t)}.{head.name}" for t in having)
            return self.refuse(f"`{self.shown}` could be a parameter of {len(having)} terms", head.span,
                               f"write the term too: {' or '.join(longer)}",
                               tuple((t.span, f"has `{head.name}`") for t in having))
        if named:
            return self.refuse(f"`{self.shown}` is a choice, not a parameter", head.span,
                               "set the whole axis, or one of its parameters: "
                               + ", ".join(look(named[0]).fields))
        every = dict.fromkeys(n for t in terms for n in look(t).fields)
        return self.refuse(f"the parent has no `{self.shown}`", head.span,
                           did_you_mean(head.name, every) or "leave it out, or write the whole axis anew",
                           tuple((t.span, "what there is") for t in terms[:1]))

    def nth(self, named: list[Expr], head: PathPart, rest: tuple) -> tuple[Expr, tuple] | None:
        """The term with this name, and this number where there are several; they count from 1."""
        if head.index is None and len(named) == 1:
            return named[0], rest
        if head.index is None:
            return self.refuse(f"there are {len(named)} terms `{head.name}`", head.span,
                               f"count from 1: {head.name}[1] to {head.name}[{len(named)}]",
                               tuple((t.span, "one of them") for t in named))
        if 1 <= head.index <= len(named):
            return named[head.index - 1], rest
        return self.refuse(f"there are {len(named)} terms `{head.name}`, counted from 1", head.span,
                           f"write a number from 1 to {len(named)}")

    def inside(self, term: Expr, rest: tuple[PathPart, ...], known: Parameters) -> Expr | None:
        """The term with the parameter that `rest` names set."""
        head = rest[0]
        if head.name not in known.fields or head.index is not None:
            return self.refuse(f"the parent has no `{self.shown}`", head.span,
                               did_you_mean(head.name, known.fields) or "it takes no parameters",
                               ((term.span, "what there is"),))
        value = self.value
        if len(rest) > 1:
            value = self.nested(term, rest, known)
            if value is None:
                return None
        return _with_argument(term, head, value, known)

    def nested(self, term: Expr, rest: tuple[PathPart, ...], known: Parameters) -> Expr | None:
        """A parameter of a parameter that is itself a choice."""
        head = rest[0]
        axis = known.nested.get(head.name)
        if axis is None:
            return self.refuse(f"`{head.name}` has no parameters of its own", rest[1].span, "set it as a whole")
        look = of_axis(axis)
        written = arguments(term, lambda _: known).get(head.name)
        inner = written.value if written else _default(known.fields[head.name], self.span)
        if look(inner) is None:
            return self.refuse(f"the parent's `{head.name}` is not a choice with parameters", rest[1].span,
                               "set it as a whole")
        return self.inside(inner, rest[1:], look(inner))

    def refuse(self, message: str, span: Span, fix: str, also: tuple = ()) -> None:
        """RL207."""
        self.report.add("RL207", message, span, "not in the parent", also=also, fix=fix)


def _place(same: list[Expr], term: Expr) -> str:
    alike = [t for t in same if leaf_name(t) == leaf_name(term)]
    return f"[{next(i for i, t in enumerate(alike, 1) if t is term)}]" if len(alike) > 1 else ""


def _default(field: dataclasses.Field, span: Span) -> Expr:
    default: Any = field.default
    return Name(default.name if isinstance(default, Choice) else "", span)


def _with_argument(term: Expr, head: PathPart, value: Expr, known: Parameters) -> Call:
    name = leaf_name(term)
    args = term.args if isinstance(term, Call) else ()
    new = Argument(head.name, value, value.span, head.span)
    for i, old in enumerate(args):
        if known.index(old, i) == head.name:
            kept = dataclasses.replace(new, name=old.name, name_span=old.name_span)
            return dataclasses.replace(term, args=(*args[:i], kept, *args[i + 1:]))
    name_span = term.name_span if isinstance(term, Call) else term.span
    return Call(name, (*args, new), term.span, name_span)
