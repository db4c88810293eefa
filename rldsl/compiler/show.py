"""Typed values as they could be written in a recipe."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from rldsl.axes.choice import Choice
from rldsl.axes.types import Band, Policies, SameAs, TermName
from rldsl.compiler.canonical import read
from rldsl.compiler.recipe import Feedback, Node, Product, Scaled, Sum
from rldsl.compiler.settings import Task, hints
from rldsl.compiler.typehints import members, options, words
from rldsl.diagnostics import RecipeError


def show(value: Any) -> str:
    """A value in the language's own notation; a choice with those arguments that differ from its defaults."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case float():
            return number(value)
        case Band(low, high):
            return f"{number(low)}..{number(high)}"
        case Policies(numerator, denominator):
            return f"{numerator} / {denominator}"
        case SameAs(field):
            return field.removesuffix("_")
        case tuple():
            return f"[{', '.join(show(x) for x in value)}]"
        case Task(name, samples):
            return name if samples is None else f"{name}(samples: {samples})"
        case Choice():
            return _choice(value)
    return str(value)


def number(value: float) -> str:
    """The shortest text that reads back as this number."""
    text = repr(float(value)).removesuffix(".0")
    return text.replace("e-0", "e-").replace("e+", "e")


def _choice(c: Choice) -> str:
    args = []
    for i, f in enumerate(dataclasses.fields(c)):
        value = getattr(c, f.name)
        default = getattr(c, f.default.field) if isinstance(f.default, SameAs) else f.default
        if value != default:
            text = _argument(value, hints(type(c))[f.name])
            args.append(text if i == len(args) and i < c.positional else f"{f.name.removesuffix('_')}: {text}")
    return f"{c.name}({', '.join(args)})" if args else c.name


def _argument(value: Any, hint: Any) -> str:
    """A parameter's value; a text that is none of its words stands in quotes."""
    match value:
        case tuple():
            return f"[{', '.join(_argument(x, hint) for x in value)}]"
        case str() if value not in words(hint) and value not in words(members(hint)) and not _names_term(hint):
            return json.dumps(value, ensure_ascii=False)
    return show(value)


def _names_term(hint: Any) -> bool:
    return any(isinstance(mark, TermName) for _, marks in options(hint) for mark in marks)


def show_feedback(f: Feedback) -> str:
    """A reward expression."""
    match f:
        case Node(choice):
            return show(choice)
        case Sum(parts, apart=True):
            return f"[{', '.join(show_feedback(p) for p in parts)}]"
        case Sum(parts):
            return " + ".join(show_feedback(p) for p in parts)
        case Product(parts):
            return " * ".join(_bracket(p) for p in parts)
        case Scaled(factor, part):
            return f"{number(factor)} * {_bracket(part)}"
    raise TypeError(f"no feedback: {f!r}")


def _bracket(f: Feedback) -> str:
    return f"({show_feedback(f)})" if isinstance(f, Sum) and not f.apart else show_feedback(f)


def default_text(cls: type, field: str) -> str | None:
    """A field's default in the language's notation; None where it has none."""
    f = next(f for f in dataclasses.fields(cls) if f.name == field)
    return None if f.default is dataclasses.MISSING else show(f.default)


def show_data(data: Any) -> str:
    """The same from a value's canonical data, also where a choice is not of this version of rldsl."""
    match data:
        case {"sum": parts}:
            return " + ".join(show_data(p) for p in parts)
        case {"vector": parts}:
            return f"[{', '.join(show_data(p) for p in parts)}]"
        case {"product": parts}:
            return " * ".join(f"({show_data(p)})" if "sum" in p else show_data(p) for p in parts)
        case {"scale": factor, "of": part}:
            return f"{number(factor)} * {show_data(part)}"
        case {"choice": name, "params": params}:
            try:
                return show(read(data))
            except RecipeError:
                return f"{name}({', '.join(f'{k}: {show_data(v)}' for k, v in params.items())})"
        case list():
            return f"[{', '.join(show_data(x) for x in data)}]"
    return show(read(data))
