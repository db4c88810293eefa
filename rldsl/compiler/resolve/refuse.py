"""The most helpful reason why something written does not fit, where a name is unknown or a type wrong."""

from __future__ import annotations

from typing import Any, get_origin

from rldsl.axes import discover
from rldsl.axes.types import Policies
from rldsl.compiler.typehints import expected, is_choice, options, words
from rldsl.diagnostics import Span
from rldsl.grammar.tree import Binary, Call, Constant, Expr, Name, String

from .fold import describe
from .report import Report, did_you_mean

SENTINELS = ("null", "nil", "None", "inf", "off", "disabled", "unlimited", "none", "")


def leaf_name(e: Expr) -> str | None:
    """The name of a choice as written, with or without arguments; `none` may be a choice too."""
    match e:
        case Name(name) | Call(name):
            return name
        case Constant(None):
            return "none"
    return None


def sentinel(e: Expr, name: str, report: Report) -> None:
    """RL209: another tool's way of saying “off”."""
    report.add("RL209", f"`{name}` is switched off with `none`", e.span, "a sentinel of other tools",
               why="engines disagree on what 0, -1 or an empty text mean", fix="write `none`")


def unknown_choice(name: str, axis: str, span: Span, report: Report) -> None:
    """RL201 with the nearest names on this axis, and the axes where the name would be legal."""
    elsewhere = [other for other in discover.AXES if other != axis and name in discover.names(other)]
    hints = [f"`{name}` is a choice on {', '.join(elsewhere)}"] if elsewhere else []
    nearest = did_you_mean(name, discover.names(axis))
    report.add("RL201", f"`{name}` is not a choice on {axis}", span, f"unknown on {axis}",
               fix="; ".join([*hints, nearest] if nearest else hints))


def refuse(e: Expr, hint: Any, name: str, report: Report) -> None:
    """Reports why `e` is no value of the annotation `hint` (RL201, 203, 209)."""
    optional = any(base is type(None) for base, _ in options(hint))
    if optional and isinstance(e, (Name, String)) and (e.id if isinstance(e, Name) else e.value) in SENTINELS:
        return sentinel(e, name, report)
    axis = next((base.axis for base, _ in options(hint) if is_choice(base)), None)
    if axis and isinstance(e, (Name, Call)):
        return unknown_choice(leaf_name(e), axis, e.name_span if isinstance(e, Call) else e.span, report)
    stray = _stray_name(e)
    if stray and (stray is not e or not _takes_words(hint)):
        return report.add("RL201", f"`{stray.id}` is not defined here", stray.span, "unknown name",
                          fix=did_you_mean(stray.id, report.lets.get(stray.span.file, ())) or f"write {expected(hint)}")
    return report.add("RL203", f"`{name}` is {expected(hint)}, not {describe(e)}", e.span, "wrong type",
                      fix=_remedy(e, hint))


def _takes_words(hint: Any) -> bool:
    return any(get_origin(base) is not None or base in (str, bool, Policies) for base, _ in options(hint))


def _stray_name(e: Expr) -> Name | None:
    """The first name inside arithmetic that stands for nothing."""
    rest = [e]
    while rest:
        e = rest.pop()
        if isinstance(e, Name):
            return e
        if isinstance(e, Binary) and e.op in ("+", "-", "*"):
            rest += [e.right, e.left]
    return None


def _remedy(e: Expr, hint: Any) -> str:
    legal = words(hint)
    match e:
        case Name(word) if legal:
            return did_you_mean(word, legal)
        case Name(word) if any(base is str for base, _ in options(hint)):
            return f'write it in quotes: "{word}"'
        case String(value) if value in legal:
            return f"write it without quotes: {value}"
    return f"write {expected(hint)}"
