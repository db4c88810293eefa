"""Formulas as MathML, which browsers draw without any library."""

from __future__ import annotations

from html import escape

from .expr import Expr
from .render import Style, plain_number, show

NAMES = {"sigmoid": "σ"}
REDUCTIONS = {"std_sample": "std[n−1]"}


def mathml(e: Expr) -> str:
    """The formula as one `<math>` element."""
    return f'<math display="block">{_row(show(e, STYLE))}</math>'


def _row(x: str) -> str:
    return f"<mrow>{x}</mrow>"


def _operator(x: str) -> str:
    return f"<mo>{escape(x)}</mo>"


def _name(x: str) -> str:
    return f'<mi mathvariant="normal">{escape(x)}</mi>'


def _bracket(x: str) -> str:
    return _row(_operator("(") + x + _operator(")"))


def _under(symbol: str, within: str) -> str:
    return f"<munder>{symbol}<mrow>{_name(within)}</mrow></munder>"


def _at_index(x: str, index: str) -> str:
    return f"<msub>{_row(_operator('[') + x + _operator(']'))}{_name(index)}</msub>"


def _discount(weight: str, same: bool, x: str, over: str) -> str:
    inside = "l≥0" if over == "i" else f"l≥0, t+l∈{over}"
    if not weight:
        factor = ""
    elif same:
        factor = f"<msup>{_row(weight)}<mi>l</mi></msup>" + _operator("·")
    else:
        factor = _under(_operator("∏"), "m<l") + _at_index(weight, "t+m") + _operator("·")
    return _under(_operator("∑"), inside) + factor + _at_index(x, "t+l")


def _shifted(x: str, outside: str, over: str) -> str:
    inside = "" if over == "i" else f"<mtext>, in {over}</mtext>"
    last = f"<mtext>, else </mtext>{outside}" if outside else ""
    return _at_index(x + inside + last, "t+1")


def _cases(test: str, yes: str, no: str) -> str:
    rows = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>"
                   for value, when in ((yes, f"<mtext>if </mtext>{test}"), (no, "<mtext>otherwise</mtext>")))
    return _row(_operator("{") + f'<mtable columnalign="left">{rows}</mtable>')


STYLE = Style(
    number=lambda value: f"<mn>{plain_number(value)}</mn>",
    variable=lambda v: _name(v.plain or v.name),
    bracket=_bracket,
    call=lambda name, args: _name(NAMES.get(name, name)) + _bracket(_operator(",").join(args)),
    absolute=lambda x: _row(_operator("|") + x + _operator("|")),
    fraction=lambda a, b: f"<mfrac>{_row(a)}{_row(b)}</mfrac>",
    power=lambda base, exponent: f"<msup>{_row(base)}{_row(exponent)}</msup>",
    root=lambda x: f"<msqrt>{x}</msqrt>",
    truth=lambda x: _row(_name("1") + _operator("[") + x + _operator("]")),
    cases=_cases,
    total=lambda within, x: _under(_operator("∑"), within) + x,
    over=lambda op, within, x: _under(_name(REDUCTIONS.get(op, op)), within) + _bracket(x),
    discount=_discount,
    shifted=_shifted,
    times=_operator("·"),
    minus=_operator("−"),
    plus=_operator("+"),
    spaced_minus=_operator("−"),
    signs={k: _operator(v) for k, v in {"lt": "<", "le": "≤", "gt": ">", "ge": "≥", "eq": "=", "ne": "≠", "and": "∧",
                                        "or": "∨", "not": "¬"}.items()},
)
