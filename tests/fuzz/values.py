"""Values for parameters, read off their annotations: within their bounds, at them, and now and then outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from random import Random
from typing import Any, Literal, get_args, get_origin

from rldsl.axes import discover
from rldsl.axes.choice import Choice
from rldsl.axes.types import Band, Bound, Policies, TermName
from rldsl.compiler.resolve.fold import Scope, fold
from rldsl.compiler.resolve.report import Report
from rldsl.compiler.resolve.values import choice
from rldsl.compiler.settings import hints
from rldsl.compiler.typehints import bound, is_choice, options, unit
from rldsl.grammar.parser import parse_expression

WRITTEN = (0.0, 0.15, 0.5)
"""How often a parameter with a default is written: drawn for each choice."""
OUTSIDE = 0.004
"""How often a value breaks its bound."""
TINY = 1e-6
TEXTS = ("[a-k]", ".*", "chosen", "")
MODERATE = (0.05, 0.2, 0.5, 0.9, 1.5, 3.0)


def call(draw: Random, cls: type[Choice], name: str, given: dict[str, str] | None = None) -> str:
    """A choice as it is written, with some of its parameters; `given` has values of some of them as text."""
    given, parts, share, places = given or {}, [], draw.choice(WRITTEN), cls.positional
    for index, f in enumerate(dataclasses.fields(cls)):
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if f.name not in given and not required and draw.random() >= share:
            continue
        text = given.get(f.name) or value(draw, hints(cls)[f.name])
        by_position = index < places and len(parts) == index and draw.random() < 0.8
        places = places if by_position else 0
        parts.append(text if by_position else f"{f.name.removesuffix('_')}: {text}")
    return f"{name}({', '.join(parts)})" if parts else name


def holds_together(text: str, axis: str) -> bool:
    """Whether a choice, as it is written, can stand on its axis at all."""
    report = Report()
    written = fold(parse_expression(text), Scope({}, report))
    return written is not None and choice(written, axis, Choice, report) is not None and not report.found


def value(draw: Random, hint: Any) -> str:
    """Some value that an annotation accepts, as text."""
    base, marks = draw.choice(list(options(hint)))
    if base is type(None):
        return "none"
    if get_origin(base) is Literal:
        return str(draw.choice(get_args(base)))
    if base is bool:
        return draw.choice(("true", "false"))
    if base in (int, float):
        return number(draw, base, marks)
    if base is Band:
        low, high = sorted(draw.choice(list(_numbers(bound(marks)))) for _ in range(2))
        return f"{plain(low)}..{plain(high)}"
    if base is Policies:
        return draw.choice(("current / old", "current / rollout"))
    if get_origin(base) is tuple:
        return draw.choice(("[]", '["z"]'))
    if is_choice(base):
        return _choice(draw, base)
    return "verify" if any(isinstance(m, TermName) for m in marks) else f'"{draw.choice(TEXTS)}"'


def _choice(draw: Random, base: type[Choice]) -> str:
    name = draw.choice([n for n in discover.names(base.axis) if issubclass(discover.find(base.axis, n), base)])
    return call(draw, discover.find(base.axis, name), name)


def number(draw: Random, kind: type, marks: tuple) -> str:
    """A number in its unit; at a bound, near it, or moderate."""
    limits = bound(marks)
    if draw.random() < OUTSIDE:
        return "-7" if kind is int else "-0.7"
    if kind is int:
        lowest = int(limits.ge if limits.ge is not None else limits.gt + 1 if limits.gt is not None else 0)
        return str(draw.choice((lowest, lowest + 1, lowest + 3)))
    text = plain(draw.choice(list(_numbers(limits))))
    return f"{text}s" if unit(marks) == "seconds" else text


def _numbers(limits: Bound) -> Iterator[float]:
    """The moderate numbers inside, and what lies at the bounds or next to them."""
    edges = ((limits.ge, 0.0), (limits.le, 0.0), (limits.gt, TINY), (limits.lt, -TINY))
    candidates = (*MODERATE, *(-x for x in MODERATE), *(edge + step for edge, step in edges if edge is not None))
    yield from (x for x in candidates if limits.broken(x) is None)


def plain(x: float) -> str:
    """A number without an exponent that the language could not read."""
    return f"{x:.7f}".rstrip("0").rstrip(".") or "0"
