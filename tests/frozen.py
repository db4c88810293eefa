"""Finite differences of expressions with stop-gradients: what is stopped is held at its value."""

from __future__ import annotations

from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.expr import Apply, Expr, Var
from rldsl.algebra.grain import transform
from rldsl.algebra.layout import Layout

Env = dict[str, list[float]]


def frozen(e: Expr, at_rest: Env, env: Env, shape: Layout) -> float:
    """Σe at `env`, with every stop-gradient held at its value at `at_rest`."""
    held: Env = {}

    def hold(node: Expr) -> Expr:
        if isinstance(node, Apply) and node.op == "sg":
            now = evaluate(node, {**at_rest, **held}, shape)
            name = f"held{len(held)}"
            held[name] = now.data
            return Var(name, now.grain)
        return node

    return sum(evaluate(transform(e, hold), {**env, **held}, shape).data)


def moved(env: Env, name: str, position: int, by: float) -> Env:
    """The same numbers with one moved."""
    return {**env, name: [x + by * (i == position) for i, x in enumerate(env[name])]}
