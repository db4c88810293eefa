"""Formulas as people read them: LaTeX and Unicode from the very expression that is run.

Two signs are ours and say what the evaluators do: `exp±` bounds its argument to ±20 first, and a comparison where
a number is expected stands for 1 or 0. The index under a sum or mean runs inside the unit after ∈: `i∈g` are the
responses i of one group, `t∈i` the tokens of one response, and no ∈ means the whole update. `above(x)` is how many of
them are larger than this one, `upto(x)` the sum of those that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .expr import (
    GROUP,
    LOG_RATIO_BOUND,
    ORDINAL,
    PAIR,
    POSITION,
    RESPONSE,
    SEGMENT,
    STATE,
    STEP,
    TOKEN,
    TURN,
    UPDATE,
    Apply,
    Const,
    Expr,
    Order,
    Reduce,
    Scan,
    Shift,
    Var,
)
from .grain import grain

OR, AND, COMPARE, ADD, SIGN, MUL, POW, ATOM = range(8)
INDEX = {TOKEN: "t", TURN: "k", STEP: "m", SEGMENT: "s", RESPONSE: "i", PAIR: "p", ORDINAL: "n", STATE: "z",
         POSITION: "q", GROUP: "g", UPDATE: ""}
COMPARISONS = ("lt", "le", "gt", "ge", "eq")
BOUNDED = "exp±"
ONES = "1"
"""How a column of ones prints: as a factor it is left out."""


@dataclass(frozen=True)
class Style:
    """How the parts of a formula are written; texts in, text out."""

    number: Callable[[float], str]
    variable: Callable[[Var], str]
    bracket: Callable[[str], str]
    call: Callable[[str, list[str]], str]
    absolute: Callable[[str], str]
    fraction: Callable[[str, str], str] | None  # None: written on one line with a slash
    power: Callable[[str, str], str]
    root: Callable[[str], str]
    truth: Callable[[str], str]
    cases: Callable[[str, str, str], str]
    total: Callable[[str, str], str]
    over: Callable[[str, str, str], str]
    discount: Callable[[str, bool, str, str], str]
    shifted: Callable[[str, str, str], str]
    times: str
    minus: str
    plus: str
    spaced_minus: str
    signs: dict[str, str]


def show(e: Expr, style: Style) -> str:
    """The formula of an expression."""
    return _at(e, style, OR)


def _at(e: Expr, style: Style, level: int) -> str:
    """The text of a part, in brackets where it binds less tightly than its place asks for."""
    text, binds = _show(e, style)
    return style.bracket(text) if binds < level else text


def _show(e: Expr, style: Style) -> tuple[str, int]:
    match e:
        case Const(value):
            return _number(value, style)
        case Var():
            return style.variable(e), ATOM
        case Reduce(op, arg, over) | Order(op, arg, over):
            return _reduce(op, arg, over, style)
        case Scan(arg, decay, over):
            return _discount(arg, decay, over, style), SIGN
        case Shift(arg, fill, over):
            outside = "" if fill == Const(0.0) else _at(fill, style, OR)
            return style.shifted(_at(arg, style, OR), outside, INDEX[over]), ATOM
        case Apply(op, args):
            return _apply(op, args, style)
    raise TypeError(f"not an expression: {e!r}")


def _discount(arg: Expr, decay: Expr, over: str, style: Style) -> str:
    """The sum a scan stands for; a decay that is the same at every token is a power, another one a product."""
    same = grain(decay) == UPDATE
    weight = "" if decay == Const(1.0) else _at(decay, style, ATOM if same else OR)
    return style.discount(weight, same, _at(arg, style, OR), INDEX[over])


def _number(value: float, style: Style) -> tuple[str, int]:
    return (style.minus + style.number(-value), SIGN) if value < 0 else (style.number(value), ATOM)


def _apply(op: str, args: tuple[Expr, ...], style: Style) -> tuple[str, int]:
    if op in COMPARISONS or op in ("and", "or", "not"):
        return style.truth(_condition(Apply(op, args), style, OR)), ATOM
    match op, args:
        case "exp", (Apply("clip", (x, Const(low), Const(high))),) if -low == high == LOG_RATIO_BOUND:
            return style.call(BOUNDED, [_at(x, style, OR)]), ATOM
        case "where", (condition, yes, no):
            return _where(condition, yes, no, style)
        case "abs", (x,):
            return style.absolute(_at(x, style, OR)), ATOM
        case "neg", (x,):
            return style.minus + _at(x, style, MUL), SIGN
        case ("add" | "sub"), (a, b):
            return _sum(op, a, b, style), ADD
        case "mul", (a, b):
            return _product(a, b, style)
        case "div", (a, b):
            return _quotient(a, b, style)
        case "pow", (x, Const(0.5)):
            return style.root(_at(x, style, OR)), ATOM
        case "pow", (x, y):
            return style.power(_at(x, style, ATOM), _at(y, style, OR)), POW
    return style.call(op, [_at(a, style, OR) for a in _flat(op, args)]), ATOM


def _flat(op: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """min(min(a, b), c) is min(a, b, c)."""
    if op not in ("min", "max"):
        return args
    return tuple(x for a in args for x in (_flat(op, a.args) if isinstance(a, Apply) and a.op == op else (a,)))


def _sum(op: str, a: Expr, b: Expr, style: Style) -> str:
    """a + b and a − b, with a negative right side folded into the sign."""
    positive = op == "add"
    match b:
        case Apply("neg", (x,)):
            positive, b = not positive, x
        case Const(value) if value < 0:
            positive, b = not positive, Const(-value)
        case Apply("mul", (Const(value), x)) if value < 0:
            positive, b = not positive, x if value == -1 else Apply("mul", (Const(-value), x))
    sign = style.plus if positive else style.spaced_minus
    left = style.bracket(_at(a, style, OR)) if _ends_in_sum(a) else _at(a, style, ADD)
    return left + sign + _at(b, style, ADD if positive else SIGN)


def _ends_in_sum(e: Expr) -> bool:
    """Whether a reader would take what follows for a part of the sum."""
    match e:
        case Reduce("sum", _, _) | Scan():
            return True
        case Apply("add" | "sub" | "mul" | "neg", args):
            return _ends_in_sum(args[-1])
    return False


def _product(a: Expr, b: Expr, style: Style) -> tuple[str, int]:
    if isinstance(a, Const) and a.value < 0:
        rest = b if a.value == -1 else Apply("mul", (Const(-a.value), b))
        return style.minus + _at(rest, style, MUL), SIGN
    if isinstance(a, Apply) and a.op == "neg":
        return style.minus + _at(Apply("mul", (a.args[0], b)), style, MUL), SIGN
    if isinstance(a, Var) and a.plain == ONES:
        return _show(b, style)
    return _at(a, style, MUL) + style.times + _at(b, style, MUL), MUL


def _quotient(a: Expr, b: Expr, style: Style) -> tuple[str, int]:
    if style.fraction:
        return style.fraction(_at(a, style, OR), _at(b, style, OR)), POW
    return f"{_at(a, style, MUL)} / {_at(b, style, POW)}", MUL


def _where(condition: Expr, yes: Expr, no: Expr, style: Style) -> tuple[str, int]:
    test = _condition(condition, style, OR)
    if (yes, no) == (Const(1.0), Const(0.0)):
        return style.truth(test), ATOM
    return style.cases(test, _at(yes, style, OR), _at(no, style, OR)), ATOM


def _condition(e: Expr, style: Style, level: int) -> str:
    """A condition as such, without the sign that turns it into 1 or 0."""
    match e:
        case Apply("and", (Apply("ge" | "gt" as low, (x, a)), Apply("le" | "lt" as high, (y, b)))) if x == y:
            left = {"ge": "le", "gt": "lt"}[low]
            return " ".join([_at(a, style, ADD), style.signs[left], _at(x, style, ADD), style.signs[high],
                             _at(b, style, ADD)])
        case Apply("and" | "or" as op, (a, b)):
            binds = AND if op == "and" else OR
            text = f"{_condition(a, style, binds)} {style.signs[op]} {_condition(b, style, binds)}"
            return style.bracket(text) if binds < level else text
        case Apply("not", (a,)):
            return style.signs["not"] + style.bracket(_condition(a, style, OR))
        case Apply(op, (a, b)) if op in COMPARISONS:
            return f"{_at(a, style, ADD)} {style.signs[op]} {_at(b, style, ADD)}"
    return f"{_at(e, style, ADD)} {style.signs['ne']} {style.number(0.0)}"


def _reduce(op: str, arg: Expr, over: str, style: Style) -> tuple[str, int]:
    inner = INDEX[grain(arg)] or INDEX[over]
    within = f"{inner}∈{INDEX[over]}" if INDEX[over] and inner != INDEX[over] else inner
    if op == "sum":
        return style.total(within, _at(arg, style, MUL)), SIGN
    return style.over(op, within, _at(arg, style, OR)), ATOM


def plain_number(value: float) -> str:
    """A non-negative number with no more digits than it needs, free of binary rounding noise."""
    if value == float("inf"):
        return "∞"
    if value == int(value) and value < 1e15:
        return str(int(value))
    mantissa, _, exponent = f"{value:.12g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa
