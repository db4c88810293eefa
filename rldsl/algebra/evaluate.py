"""The plain-Python evaluator: float64 values and exact reverse-mode gradients, without torch.

It is the reference for every other evaluator. Undefined points (division by zero, log of 0) have IEEE values and
gradient zero, so the branch that a `where` does not take can never poison a result.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .expr import TOKEN, UPDATE, Apply, Const, Expr, Order, Reduce, Scan, Shift, Var, children
from .grain import grain, variables
from .layout import Layout

ROUNDING = 8 * 2.0**-52
"""A spread below this share of the largest magnitude is rounding noise and counts as none."""


def _div(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)
    return a / b


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def _pow(a: float, b: float) -> float:
    try:
        out = a**b
        return out if isinstance(out, float) else math.nan
    except ZeroDivisionError:
        return math.inf
    except OverflowError:
        return math.inf


def _sigmoid(x: float) -> float:
    return 1 / (1 + _exp(-x)) if x >= 0 else _exp(x) / (1 + _exp(x))


VALUES: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": _div, "pow": _pow,
    "neg": lambda a: -a, "exp": _exp, "log": _log, "abs": abs, "sigmoid": _sigmoid, "min": min, "max": max,
    "clip": lambda x, low, high: min(max(x, low), high), "where": lambda c, a, b: a if c else b, "sg": lambda x: x,
    "lt": lambda a, b: float(a < b), "le": lambda a, b: float(a <= b), "gt": lambda a, b: float(a > b),
    "ge": lambda a, b: float(a >= b), "eq": lambda a, b: float(a == b),
    "and": lambda a, b: float(bool(a) and bool(b)), "or": lambda a, b: float(bool(a) or bool(b)),
    "not": lambda a: float(not a),
}

# partial derivatives: (arguments, value) → one number per argument; operations not listed have gradient zero
PARTIALS: dict[str, Callable[..., tuple[float, ...]]] = {
    "add": lambda v, a, b: (1.0, 1.0), "sub": lambda v, a, b: (1.0, -1.0), "mul": lambda v, a, b: (b, a),
    "div": lambda v, a, b: (1 / b, -v / b) if b else (0.0, 0.0),
    "pow": lambda v, a, b: (b * _pow(a, b - 1) if a else 0.0, v * _log(a) if a > 0 else 0.0),
    "neg": lambda v, a: (-1.0,), "exp": lambda v, a: (v,), "log": lambda v, a: (1 / a if a > 0 else 0.0,),
    "abs": lambda v, a: (float((a > 0) - (a < 0)),), "sigmoid": lambda v, a: (v * (1 - v),),
    "min": lambda v, a, b: (0.5, 0.5) if a == b else (float(a < b), float(b < a)),
    "max": lambda v, a, b: (0.5, 0.5) if a == b else (float(a > b), float(b > a)),
    "clip": lambda v, x, low, high: (float(low <= x <= high), 0.0, 0.0),
    "where": lambda v, c, a, b: (0.0, 1.0, 0.0) if c else (0.0, 0.0, 1.0),
}


@dataclass(frozen=True)
class Value:
    """A column of numbers at a grain."""

    grain: str
    data: list[float]


def evaluate(e: Expr, env: Mapping[str, Sequence[float]], shape: Layout) -> Value:
    """The value of an expression. `env` maps variable names to one number per unit of the variable's grain."""
    return _Tape(env, shape).value(e)


def gradient(e: Expr, env: Mapping[str, Sequence[float]], shape: Layout,
             seed: Sequence[float] | None = None) -> dict[str, list[float]]:
    """d(Σ seed·e)/d(variable) for each variable that carries gradient; `seed` defaults to ones."""
    tape = _Tape(env, shape)
    out = tape.value(e)
    found = tape.backward(e, list(seed) if seed is not None else [1.0] * len(out.data))
    return {v.name: found.get(v.name, [0.0] * shape.size(v.grain)) for v in variables(e) if v.gradient}


def spread(value: Value, shape: Layout, to: str) -> list[float]:
    """A column broadcast from its grain to a finer one."""
    if value.grain == to:
        return value.data
    return [value.data[i] for i in shape.index(to, value.grain)]


class _Tape:
    """One evaluation: each distinct node once, in an order that the backward pass can reverse."""

    def __init__(self, env: Mapping[str, Sequence[float]], shape: Layout):
        self.env, self.shape = env, shape
        self.values: dict[int, Value] = {}
        self.order: list[Expr] = []

    def value(self, e: Expr) -> Value:
        if id(e) not in self.values:
            parts = [self.value(c) for c in children(e)]
            self.values[id(e)] = self._compute(e, parts)
            self.order.append(e)
        return self.values[id(e)]

    def _compute(self, e: Expr, parts: list[Value]) -> Value:
        match e:
            case Const(value):
                return Value(UPDATE, [value])
            case Var(name, at):
                data = list(self.env[name])
                if len(data) != self.shape.size(at):
                    raise ValueError(f"{name}: {len(data)} values for {self.shape.size(at)} {at}s")
                return Value(at, data)
            case Apply(op, _):
                at = grain(e)
                columns = [spread(p, self.shape, at) for p in parts]
                return Value(at, [VALUES[op](*row) for row in zip(*columns, strict=True)])
            case Reduce(op, _, over):
                return Value(over, [REDUCTIONS[op](x) for x in self._units(parts[0], over)])
            case Order(op, _, over):
                return Value(parts[0].grain, self._order(op, parts[0], over))
            case Scan(_, _, over):
                return Value(TOKEN, self._scan(*self._at_tokens(parts), over))
            case Shift(_, _, over):
                return Value(TOKEN, self._shift(*self._at_tokens(parts), over))
        raise TypeError(f"not an expression: {e!r}")

    def _at_tokens(self, parts: list[Value]) -> list[list[float]]:
        return [spread(p, self.shape, TOKEN) for p in parts]

    def _units(self, value: Value, over: str) -> list[list[float]]:
        units: list[list[float]] = [[] for _ in range(self.shape.size(over))]
        for unit, x in zip(self.shape.index(value.grain, over), value.data, strict=True):
            units[unit].append(x)
        return units

    def _order(self, op: str, value: Value, over: str) -> list[float]:
        ordered = [sorted(x) for x in self._units(value, over)]
        sums = [list(accumulate(x, initial=0.0)) for x in ordered]
        out = []
        for unit, x in zip(self.shape.index(value.grain, over), value.data, strict=True):
            place = bisect_right(ordered[unit], x)
            out.append(float(len(ordered[unit]) - place) if op == "above" else sums[unit][place])
        return out

    def _scan(self, x: list[float], decay: list[float], over: str) -> list[float]:
        unit, out = self.shape.index(TOKEN, over), list(x)
        for t in range(len(x) - 2, -1, -1):
            if unit[t] == unit[t + 1]:
                out[t] = x[t] + decay[t] * out[t + 1]
        return out

    def _shift(self, x: list[float], fill: list[float], over: str) -> list[float]:
        unit, n = self.shape.index(TOKEN, over), len(x)
        return [x[t + 1] if t + 1 < n and unit[t] == unit[t + 1] else fill[t] for t in range(n)]

    def backward(self, root: Expr, seed: list[float]) -> dict[str, list[float]]:
        adjoint: dict[int, list[float]] = {id(root): seed}
        found: dict[str, list[float]] = {}
        for e in reversed(self.order):
            g = adjoint.pop(id(e), None)
            if g is None or not any(g):
                continue
            if isinstance(e, Var) and e.gradient:
                kept = found.get(e.name)
                found[e.name] = [a + b for a, b in zip(kept, g, strict=True)] if kept else g
            for part, down in zip(children(e), self._pull(e, g), strict=True):
                if down is not None:
                    self._add(adjoint, part, down)
        return found

    def _add(self, adjoint: dict[int, list[float]], part: Expr, down: tuple[str, list[float]]) -> None:
        at, data = down
        value = self.values[id(part)]
        into = adjoint.setdefault(id(part), [0.0] * len(value.data))
        index = range(len(data)) if at == value.grain else self.shape.index(at, value.grain)
        for i, x in zip(index, data, strict=True):
            into[i] += x

    def _pull(self, e: Expr, g: list[float]) -> list[tuple[str, list[float]] | None]:
        parts = [self.values[id(c)] for c in children(e)]
        match e:
            case Apply(op, args):
                if op not in PARTIALS:
                    return [None] * len(args)
                at, value = self.values[id(e)].grain, self.values[id(e)].data
                columns = [spread(p, self.shape, at) for p in parts]
                rows = [PARTIALS[op](v, *row) if gi else (0.0,) * len(args)
                        for gi, v, *row in zip(g, value, *columns, strict=True)]
                return [(at, [gi * row[k] if gi else 0.0 for gi, row in zip(g, rows, strict=True)])
                        for k in range(len(args))]
            case Reduce(op, _, over):
                return [(parts[0].grain, self._pull_reduce(op, parts[0], over, g))]
            case Order():
                return [None]
            case Scan(_, _, over):
                return self._pull_scan(*self._at_tokens(parts), self.values[id(e)].data, g, over)
            case Shift(_, _, over):
                return self._pull_shift(g, over)
        return []

    def _pull_reduce(self, op: str, value: Value, over: str, g: list[float]) -> list[float]:
        units = self._units(value, over)
        downs = [iter(_reduce_partials(op, x, gi)) for x, gi in zip(units, g, strict=True)]
        return [next(downs[u]) for u in self.shape.index(value.grain, over)]

    def _pull_scan(self, x: list[float], decay: list[float], y: list[float], g: list[float],
                   over: str) -> list[tuple[str, list[float]]]:
        unit, into, by_decay = self.shape.index(TOKEN, over), list(g), [0.0] * len(g)
        for t in range(len(g) - 1):
            if unit[t] == unit[t + 1]:
                into[t + 1] += decay[t] * into[t]
                by_decay[t] = into[t] * y[t + 1]
        return [(TOKEN, into), (TOKEN, by_decay)]

    def _pull_shift(self, g: list[float], over: str) -> list[tuple[str, list[float]]]:
        unit, n = self.shape.index(TOKEN, over), len(g)
        last = [t + 1 == n or unit[t] != unit[t + 1] for t in range(n)]
        by_arg = [g[t - 1] if t and not last[t - 1] else 0.0 for t in range(n)]
        return [(TOKEN, by_arg), (TOKEN, [x if end else 0.0 for x, end in zip(g, last, strict=True)])]


def _sum(x: list[float]) -> float:
    """The correctly rounded sum; what is not finite adds up as floating-point numbers do."""
    try:
        return math.fsum(x)
    except (ValueError, OverflowError):
        return sum(x)


def _mean(x: list[float]) -> float:
    if not x:
        return 0.0
    return x[0] if min(x) == max(x) else _sum(x) / len(x)


def _std(x: list[float], fewer: int) -> float:
    if len(x) <= fewer or max(x) - min(x) <= ROUNDING * max(map(abs, x)):
        return 0.0
    m = _mean(x)
    return math.hypot(*(v - m for v in x)) / math.sqrt(len(x) - fewer)  # squares of large numbers overflow


REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": _sum, "mean": _mean, "count": lambda x: float(len(x)),
    "std": lambda x: _std(x, 0), "std_sample": lambda x: _std(x, 1),
    "max": lambda x: max(x, default=0.0), "min": lambda x: min(x, default=0.0),
}


def _reduce_partials(op: str, x: list[float], g: float) -> list[float]:
    match op:
        case "sum":
            return [g] * len(x)
        case "mean":
            return [g / len(x) for _ in x]
        case "max" | "min":
            best = REDUCTIONS[op](x)
            ties = x.count(best)
            return [g / ties if v == best else 0.0 for v in x]
        case "std" | "std_sample":
            s, m, n = REDUCTIONS[op](x), _mean(x), len(x) - (op == "std_sample")
            return [g * (v - m) / (n * s) if s else 0.0 for v in x]
    return [0.0] * len(x)
