"""Expressions as JSON data: what plan.json carries, so that a run needs no recipe file."""

from __future__ import annotations

from typing import Any

from .expr import Apply, Const, Expr, Order, Reduce, Scan, Shift, Var


def to_data(e: Expr) -> Any:
    """Nested lists: a number, ["var", …], ["mean", x, "group"], ["scan", x, decay, over] or [op, arguments…]."""
    match e:
        case Const(value):
            return value
        case Var(name, grain, symbol, plain, gradient):
            return ["var", name, grain, symbol, plain, gradient]
        case Apply(op, args):
            return [op, *map(to_data, args)]
        case Reduce(op, arg, over):
            return ["reduce", op, to_data(arg), over]
        case Order(op, arg, over):
            return ["order", op, to_data(arg), over]
        case Scan(arg, decay, over):
            return ["scan", to_data(arg), to_data(decay), over]
        case Shift(arg, fill, over):
            return ["shift", to_data(arg), to_data(fill), over]
    raise TypeError(f"not an expression: {e!r}")


def from_data(data: Any) -> Expr:
    """The inverse of `to_data`."""
    if isinstance(data, (int, float)):
        return Const(float(data))
    head, *rest = data
    match head:
        case "var":
            return Var(*rest)
        case "reduce":
            return Reduce(rest[0], from_data(rest[1]), rest[2])
        case "order":
            return Order(rest[0], from_data(rest[1]), rest[2])
        case "scan":
            return Scan(from_data(rest[0]), from_data(rest[1]), rest[2])
        case "shift":
            return Shift(from_data(rest[0]), from_data(rest[1]), rest[2])
    return Apply(head, tuple(from_data(r) for r in rest))
