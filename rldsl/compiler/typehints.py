"""What a parameter accepts, read off its annotation and said in words."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from rldsl.axes.choice import Choice
from rldsl.axes.types import Band, Bound, Policies, TermName, Unit
from rldsl.compiler.settings import RecipeName

UNIT_KINDS = {"seconds": ("time",), "bytes": ("bytes",), "fraction": ("plain", "percent")}
UNIT_EXAMPLES = {"seconds": "30s, 5min or 2h", "bytes": "80GB or 512MiB"}


def options(hint: Any, marks: tuple = ()) -> Iterator[tuple[Any, tuple]]:
    """The alternatives of an annotation, each as (bare type, its marks)."""
    if get_origin(hint) is Annotated:
        inner, *own = get_args(hint)
        yield from options(inner, (*marks, *own))
    elif get_origin(hint) in (Union, types.UnionType):
        for part in get_args(hint):
            yield from options(part, marks)
    else:
        yield hint, marks


def bound(marks: tuple) -> Bound:
    """The limits among an option's marks."""
    return next((m for m in marks if isinstance(m, Bound)), Bound())


def unit(marks: tuple) -> str:
    """The unit among an option's marks, or nothing."""
    return next((m.name for m in marks if isinstance(m, Unit)), "")


def kinds(marks: tuple) -> tuple[str, ...]:
    """The kinds of number that may be written for an option."""
    return UNIT_KINDS.get(unit(marks), ("plain",))


def is_choice(base: Any) -> bool:
    """Whether an option is itself a choice."""
    return isinstance(base, type) and issubclass(base, Choice)


def members(hint: Any) -> Any | None:
    """What a list is of; None where the annotation takes no list."""
    return next((get_args(base)[0] for base, _ in options(hint) if get_origin(base) is tuple), None)


def words(hint: Any) -> tuple[str, ...]:
    """The words an annotation accepts."""
    return tuple(str(w) for base, _ in options(hint) if get_origin(base) is Literal for w in get_args(base))


def expected(hint: Any) -> str:
    """What may be written there: “a number greater than 0, or `none`”."""
    parts = [_option(base, marks) for base, marks in options(hint)]
    return ", or ".join(dict.fromkeys(parts))


def _option(base: Any, marks: tuple) -> str:
    if base is type(None):
        return "`none`"
    if get_origin(base) is Literal:
        every = [f"`{w}`" for w in get_args(base)]
        return "one of " + ", ".join(every) if len(every) > 1 else every[0]
    if base in (int, float):
        return _number(base, marks)
    if get_origin(base) is tuple:
        return f"a list of {_option(*next(options(get_args(base)[0])))}"
    if is_choice(base):
        return f"a choice of the kind {base.__name__.lower()}"
    if any(isinstance(m, RecipeName) for m in marks):
        return "the name of a recipe"
    if any(isinstance(m, TermName) for m in marks):
        return "the name of a source of the feedback"
    return {bool: "true or false", str: "a text in quotes", Band: "a range such as 0.5..5.0",
            Policies: "two policies such as current / old"}[base]


def _number(base: type, marks: tuple) -> str:
    name = unit(marks)
    if name in UNIT_EXAMPLES:
        return f"a number with its unit, such as {UNIT_EXAMPLES[name]}"
    noun = "a whole number" if base is int else "a fraction" if name == "fraction" else "a number"
    limits = [f"{text} {limit:g}" for limit, text in (
        (bound(marks).gt, "greater than"), (bound(marks).ge, "at least"),
        (bound(marks).lt, "less than"), (bound(marks).le, "at most")) if limit is not None]
    of = f" of {name}" if name and name != "fraction" else ""
    return f"{noun}{of}" + (f" ({' and '.join(limits)})" if limits else "")
