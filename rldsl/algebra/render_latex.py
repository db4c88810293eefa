"""Formulas as LaTeX, in math mode and with nothing but amsmath."""

from __future__ import annotations

from .expr import Expr, Var
from .render import BOUNDED, Style, plain_number, show

NAMES = {BOUNDED: r"\exp_{\pm}", "exp": r"\exp", "log": r"\log", "min": r"\min", "max": r"\max",
         "sigmoid": r"\sigma", "clip": r"\operatorname{clip}", "sg": r"\operatorname{sg}"}
REDUCTIONS = {"mean": r"\operatorname{mean}", "std": r"\operatorname{std}", "std_sample": r"\operatorname{std}^{(n-1)}",
              "max": r"\max", "min": r"\min", "count": r"\operatorname{count}",
              "above": r"\operatorname{above}", "upto": r"\operatorname{upto}"}


def latex(e: Expr) -> str:
    """The formula in LaTeX, without surrounding dollar signs."""
    return show(e, STYLE)


def _variable(v: Var) -> str:
    return v.symbol or r"\mathrm{" + v.name.replace("_", r"\_") + "}"


def _number(value: float) -> str:
    mantissa, _, exponent = plain_number(value).replace("∞", r"\infty").partition("e")
    if not exponent:
        return mantissa
    return f"10^{{{exponent}}}" if mantissa == "1" else rf"{mantissa} \cdot 10^{{{exponent}}}"


def _bracket(x: str) -> str:
    return rf"\left({x}\right)"


def _within(within: str) -> str:
    return within.replace("∈", r" \in ")


def _discount(weight: str, same: bool, x: str, over: str) -> str:
    inside = "" if over == "i" else rf",\, t+l \in {over}"
    factor = weight and (rf"{{{weight}}}^{{l}} \cdot " if same
                         else rf"\left(\prod_{{m<l}} \left[{weight}\right]_{{t+m}}\right) \cdot ")
    return rf"\sum_{{l \ge 0{inside}}} {factor}\left[{x}\right]_{{t+l}}"


def _shifted(x: str, outside: str, over: str) -> str:
    notes = ([] if over == "i" else [rf"\text{{in }} {over}"]) + ([rf"\text{{else }} {outside}"] if outside else [])
    inside = r",\, ".join([x, *notes])
    return rf"\left[{inside}\right]_{{t+1}}"


STYLE = Style(
    number=_number,
    variable=_variable,
    bracket=_bracket,
    call=lambda name, args: NAMES[name] + _bracket(", ".join(args)),
    absolute=lambda x: rf"\left|{x}\right|",
    fraction=lambda a, b: rf"\frac{{{a}}}{{{b}}}",
    power=lambda base, exponent: f"{{{base}}}^{{{exponent}}}",
    root=lambda x: rf"\sqrt{{{x}}}",
    truth=lambda x: rf"\mathbf{{1}}\left[{x}\right]",
    cases=lambda test, yes, no: rf"\begin{{cases}} {yes} & {test} \\ {no} & \text{{otherwise}} \end{{cases}}",
    total=lambda within, x: rf"\sum_{{{_within(within)}}} {x}",
    over=lambda op, within, x: rf"{REDUCTIONS[op]}_{{{_within(within)}}}" + _bracket(x),
    discount=_discount,
    shifted=_shifted,
    times=r" \cdot ",
    minus="-",
    plus=" + ",
    spaced_minus=" - ",
    signs={"lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge", "eq": "=", "ne": r"\ne", "and": r"\wedge",
           "or": r"\vee", "not": r"\neg "},
)
