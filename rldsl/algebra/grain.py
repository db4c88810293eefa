"""What can be read off an expression without computing it: its grain, its scope, its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from .expr import TOKEN, UPDATE, Apply, Const, Expr, Order, Reduce, Scan, Shift, Var, children, coarser, finer, rebuild


def grain(e: Expr) -> str:
    """The grain an expression's value lives at; a constant lives at `update`."""
    match e:
        case Const():
            return UPDATE
        case Var():
            return e.grain
        case Reduce(_, _, over):
            return over
        case Order(_, arg, _):
            return grain(arg)
        case Scan() | Shift():
            return TOKEN
        case Apply(_, args):
            out = UPDATE
            for a in args:
                out = finer(out, grain(a))
            return out
    raise TypeError(f"not an expression: {e!r}")


def carries_gradient(e: Expr) -> bool:
    """Whether a derivative with respect to the current policy can be non-zero."""
    if isinstance(e, Var):
        return e.gradient
    return lets_through(e) and any(carries_gradient(c) for c in children(e))


def lets_through(e: Expr) -> bool:
    """Whether a node passes a derivative on to its parts; stop-gradient, conditions and counts do not."""
    match e:
        case Apply("sg" | "lt" | "le" | "gt" | "ge" | "eq" | "and" | "or" | "not", _) | Reduce("count", _, _):
            return False
        case Order():
            return False
    return True


def scope(e: Expr) -> str:
    """The coarsest unit that must be whole for value and gradient to be exact: token, turn, response, …, update."""
    out = TOKEN
    for node in walk(e):
        if isinstance(node, (Reduce, Order, Scan, Shift)):
            out = coarser(out, node.over)
    return out


def grains(e: Expr) -> frozenset[str]:
    """Every grain that an expression mentions: what a batch must be divided into."""
    over = {n.over for n in walk(e) if isinstance(n, (Reduce, Order, Scan, Shift))}
    return frozenset(over | {v.grain for v in variables(e)})


def walk(e: Expr) -> Iterator[Expr]:
    """Every node, parents before children."""
    yield e
    for c in children(e):
        yield from walk(c)


def variables(e: Expr) -> frozenset[Var]:
    """The variables an expression mentions: what the compiler must provide."""
    return frozenset(n for n in walk(e) if isinstance(n, Var))


def transform(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The tree with `change` applied to every node, children first."""
    parts = children(e)
    if parts:
        e = rebuild(e, tuple(transform(p, change) for p in parts))
    return change(e)


def substitute(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with variables replaced by name."""
    return transform(e, lambda n: values.get(n.name, n) if isinstance(n, Var) else n)
