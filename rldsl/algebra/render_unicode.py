"""Formulas on one line of a terminal."""

from __future__ import annotations

from .expr import Expr, Var
from .render import Style, plain_number, show

SUPERSCRIPT = str.maketrans("0123456789−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
NAMES = {"sigmoid": "σ"}
REDUCTIONS = {"std_sample": "std[n−1]"}


def unicode(e: Expr) -> str:
    """The formula in Unicode characters."""
    return show(e, STYLE)


def _variable(v: Var) -> str:
    return v.plain or v.name


def _power(base: str, exponent: str) -> str:
    if exponent.lstrip("−").isdigit():
        return base + exponent.translate(SUPERSCRIPT)
    return f"{base}^({exponent})"


def _subscript(within: str) -> str:
    return f"_{within}" if len(within) < 2 else f"_{{{within}}}"


def _discount(weight: str, same: bool, x: str, over: str) -> str:
    inside = "" if over == "i" else f", t+l∈{over}"
    if not weight:
        return f"Σ_{{l≥0{inside}}} [{x}]ₜ₊ₗ"
    if same:
        return f"Σ_{{l≥0{inside}}} {weight}ˡ·[{x}]ₜ₊ₗ"
    return f"Σ_{{l≥0{inside}}} (Π_{{m<l}} [{weight}]ₜ₊ₘ)·[{x}]ₜ₊ₗ"


def _shifted(x: str, outside: str, over: str) -> str:
    notes = ([] if over == "i" else [f"in {over}"]) + ([f"else {outside}"] if outside else [])
    return f"[{', '.join([x, *notes])}]ₜ₊₁"


STYLE = Style(
    number=plain_number,
    variable=_variable,
    bracket=lambda x: f"({x})",
    call=lambda name, args: f"{NAMES.get(name, name)}({', '.join(args)})",
    absolute=lambda x: f"|{x}|",
    fraction=None,
    power=_power,
    root=lambda x: f"√({x})",
    truth=lambda x: f"1[{x}]",
    cases=lambda test, yes, no: f"({yes} if {test} else {no})",
    total=lambda within, x: f"Σ{_subscript(within)} {x}",
    over=lambda op, within, x: f"{REDUCTIONS.get(op, op)}{_subscript(within)}({x})",
    discount=_discount,
    shifted=_shifted,
    times="·",
    minus="−",
    plus=" + ",
    spaced_minus=" − ",
    signs={"lt": "<", "le": "≤", "gt": ">", "ge": "≥", "eq": "=", "ne": "≠", "and": "∧", "or": "∨", "not": "¬"},
)
