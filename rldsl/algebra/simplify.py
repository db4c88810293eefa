"""Rewriting by laws: enough algebra to see that a formula is constant, or exactly zero."""

from __future__ import annotations

import math

from .expr import Apply, Const, Expr, Order, Reduce, Scan, Shift, children, rebuild
from .grain import grain


def simplify(e: Expr) -> Expr:
    """An equal expression with constants folded and neutral elements removed.

    What a reduction reduces keeps its grain: Σ_t (R + 0·ℓ) counts R once per token, Σ R does not.
    """
    parts = tuple(simplify(p) for p in children(e))
    if isinstance(e, (Reduce, Order)) and parts[0] != Const(0.0) and grain(parts[0]) != grain(e.arg):
        return e
    return _step(rebuild(e, parts) if parts else e)


def is_zero(e: Expr) -> bool:
    """Whether an expression is exactly zero by the laws alone."""
    s = simplify(e)
    return isinstance(s, Const) and s.value == 0


def _step(e: Expr) -> Expr:
    match e:
        case Apply(op, args):
            return _apply(op, args, e)
        case Reduce("sum" | "mean" | "std" | "std_sample" | "max" | "min", Const(0.0), _):
            return Const(0.0)
        case Order(_, Const(0.0), _) | Scan(Const(0.0), _, _):
            return Const(0.0)
        case Shift(Const(0.0), Const(0.0), _):
            return Const(0.0)
    return e


def _apply(op: str, args: tuple[Expr, ...], e: Expr) -> Expr:
    if all(isinstance(a, Const) for a in args):
        folded = _fold(op, [a.value for a in args])
        if folded is not None:
            return Const(folded)
    return _choose(op, args) or _arithmetic(op, args) or e


def _arithmetic(op: str, args: tuple[Expr, ...]) -> Expr | None:
    match op, args:
        case "add", (Const(0.0), x) | (x, Const(0.0)):  # 0 + x = x
            return x
        case "sub", (x, Const(0.0)):  # x − 0 = x
            return x
        case "sub", (x, y) if x == y:  # x − x = 0
            return Const(0.0)
        case "neg", (Apply("sub", (x, y)),):  # −(x − y) = y − x
            return Apply("sub", (y, x))
        case "mul", (Const(0.0), _) | (_, Const(0.0)):  # 0 · x = 0
            return Const(0.0)
        case "mul", (Const(1.0), x) | (x, Const(1.0)):  # 1 · x = x
            return x
        case "div", (Const(0.0), _):  # 0 / x = 0
            return Const(0.0)
        case "div" | "pow", (x, Const(1.0)):  # x / 1 = x¹ = x
            return x
    return None


def _choose(op: str, args: tuple[Expr, ...]) -> Expr | None:
    match op, args:
        case ("min" | "max"), (x, y) if x == y:  # min(x, x) = x
            return x
        case "where", (Const(c), yes, no):
            return yes if c else no
        case "where", (_, yes, no) if yes == no:
            return yes
        case "where", (c, yes, Apply("where", (again, _, no))) if c == again:  # the inner test has failed already
            return Apply("where", (c, yes, no))
        case "where", (c, Apply("where", (again, yes, _)), no) if c == again:  # the inner test has passed already
            return Apply("where", (c, yes, no))
        case "sg", (Apply("sg", _) as inner,):  # sg(sg(x)) = sg(x)
            return inner
    return None


def _fold(op: str, v: list[float]) -> float | None:
    from .evaluate import VALUES  # the one definition of each operation

    out = VALUES[op](*v)
    return out if math.isfinite(out) else None
