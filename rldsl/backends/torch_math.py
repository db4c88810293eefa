"""The algebra on torch tensors: values, and exact gradients by the same rules as the plain-Python reference.

Arithmetic is float64 whatever the model's precision: columns hold one number per token at most, so it costs nothing
beside a forward pass, and results do not depend on how a batch is split. Gradients are d(Σ seed·e)/d(variable) as
explicit columns; a trainer multiplies them into its own backward pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from rldsl.algebra.evaluate import Value
from rldsl.algebra.expr import (
    RESPONSE,
    SEGMENT,
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
    children,
    finer,
)
from rldsl.algebra.grain import grain, lets_through
from rldsl.algebra.layout import Layout

from .torch_ops import PARTIALS, VALUES
from .torch_segments import Segments, scan


class TorchMath:
    """Columns as float64 tensors on one device; implements `rldsl.runtime.batch.Math`."""

    def __init__(self, device: torch.device | str = "cpu"):
        self.device = torch.device(device)
        self._maps: WeakKeyDictionary[Layout, dict[tuple[str, str], Segments]] = WeakKeyDictionary()

    def column(self, data: Any) -> Tensor:
        """Numbers or a tensor as a float64 column, detached."""
        return torch.as_tensor(data, dtype=torch.float64, device=self.device).detach()

    def evaluate(self, e: Expr, env: Mapping[str, Value], shape: Layout) -> Value:
        """The value of an expression at its own grain."""
        tape = _Tape(self, env, shape)
        at = grain(e)
        return Value(at, tape.value(e).expand(shape.size(at)))

    def gradient(self, e: Expr, env: Mapping[str, Value], shape: Layout,
                 seed: Tensor | None = None) -> dict[str, Tensor]:
        """d(Σ seed·e)/d(variable), one column per variable that carries gradient; `seed` defaults to ones."""
        return self.both(e, env, shape, seed)[1]

    def both(self, e: Expr, env: Mapping[str, Value], shape: Layout,
             seed: Tensor | None = None) -> tuple[Value, dict[str, Tensor]]:
        """The value and the gradient in one evaluation."""
        tape, at = _Tape(self, env, shape), grain(e)
        value = tape.value(e).expand(shape.size(at))
        if seed is None:
            seed = torch.ones(shape.size(at), dtype=torch.float64, device=self.device)
        return Value(at, value), tape.backward(e, seed)

    def spread(self, value: Value, shape: Layout, to: str) -> Tensor:
        """A column broadcast from its grain to a finer one."""
        if value.grain == to:
            return value.data
        if value.grain == UPDATE:
            return value.data.expand(shape.size(to))
        return value.data[self.segments(shape, to, value.grain).index]

    def take(self, data: Tensor, index: Sequence[int]) -> Tensor:
        """The rows of a column at `index`."""
        return data[torch.as_tensor(index, dtype=torch.long, device=self.device)]

    def numbers(self, data: Tensor) -> list[float]:
        """A column as Python floats."""
        return data.tolist()

    def join(self, columns: Sequence[Tensor]) -> Tensor:
        """Columns one after another."""
        return torch.cat(list(columns))

    def segments(self, shape: Layout, fine: str, coarse: str) -> Segments:
        """The units of `coarse` that the units of `fine` lie in; kept as long as the layout lives."""
        maps = self._maps.setdefault(shape, {})
        if (fine, coarse) not in maps:
            index = torch.as_tensor(shape.index(fine, coarse), dtype=torch.long, device=self.device)
            in_order = fine == TOKEN and coarse in (TURN, SEGMENT, RESPONSE) and bool((index.diff() >= 0).all())
            maps[fine, coarse] = Segments.of(index, shape.size(coarse), in_order)
        return maps[fine, coarse]


@dataclass
class _Tape:
    """One evaluation: each distinct node once. Columns at update grain have one element and broadcast."""

    math: TorchMath
    env: Mapping[str, Value]
    shape: Layout
    values: dict[int, Tensor] = field(default_factory=dict)
    grains: dict[int, str] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    order: list[Expr] = field(default_factory=list)

    def value(self, e: Expr) -> Tensor:
        """The column of a node; notes its grain and whether it carries gradient."""
        if id(e) not in self.values:
            parts = [self.value(c) for c in children(e)]
            inner = [self.grains[id(c)] for c in children(e)]
            self.grains[id(e)] = reduce(finer, inner, UPDATE) if isinstance(e, Apply) else grain(e)
            if e.gradient if isinstance(e, Var) else lets_through(e) and any(id(c) in self.live for c in children(e)):
                self.live.add(id(e))
            self.values[id(e)] = self._compute(e, parts)
            self.order.append(e)
        return self.values[id(e)]

    def _compute(self, e: Expr, parts: list[Tensor]) -> Tensor:
        match e:
            case Const(value):
                return torch.tensor([value], dtype=torch.float64, device=self.math.device)
            case Var(name, at):
                return self._column(name, at)
            case Apply(op, _):
                return VALUES[op](*self._aligned(e))
            case Reduce(op, arg, over):
                return self._members(arg, over).reduce(op, self._full(arg))
            case Order(op, arg, over):
                return self._members(arg, over).order(op, self._full(arg))
            case Scan(_, _, over):
                x, link = self._aligned(e)
                return scan(x, torch.where(self._linked(over), link, 0.0))
            case Shift(_, _, over):
                x, rest = self._aligned(e)
                return torch.where(self._linked(over), x.roll(-1), rest)
        raise TypeError(f"not an expression: {e!r}")

    def _column(self, name: str, at: str) -> Tensor:
        data = self.math.column(self.env[name].data)
        if data.shape != (self.shape.size(at),):
            raise ValueError(f"{name}: shape {tuple(data.shape)} for {self.shape.size(at)} {at}s")
        return data

    def _full(self, e: Expr) -> Tensor:
        return self.values[id(e)].expand(self.shape.size(self.grains[id(e)]))

    def _members(self, e: Expr, over: str) -> Segments:
        return self.math.segments(self.shape, self.grains[id(e)], over)

    def _aligned(self, e: Expr) -> list[Tensor]:
        """The parts of a node at the node's grain; one element where a part is a constant under an operation."""
        at, out = self.grains[id(e)], []
        for part in children(e):
            data = self.values[id(part)]
            if self.grains[id(part)] not in (at, UPDATE):
                data = data[self.math.segments(self.shape, at, self.grains[id(part)]).index]
            out.append(data if isinstance(e, Apply) else data.expand(self.shape.size(at)))
        return out

    def _linked(self, over: str) -> Tensor:
        """Whether the next token lies in the same unit, per token."""
        unit = self.math.segments(self.shape, TOKEN, over).index
        return torch.cat([unit[1:] == unit[:-1], unit.new_zeros(min(1, len(unit)), dtype=torch.bool)])

    def backward(self, root: Expr, seed: Tensor) -> dict[str, Tensor]:
        """d(Σ seed·root)/d(variable) for every variable that carries gradient."""
        adjoint: dict[int, Tensor] = {id(root): seed}
        found = {e.name: torch.zeros_like(self.values[id(e)]) for e in self.order if isinstance(e, Var) and e.gradient}
        for e in reversed(self.order):
            g = adjoint.pop(id(e), None)
            if g is None or id(e) not in self.live:
                continue
            if isinstance(e, Var):
                found[e.name] = found[e.name] + g
            for part, (at, down) in zip(children(e), self._pull(e, g), strict=True):
                if id(part) in self.live:
                    down = self._gathered(down, at, self.grains[id(part)])
                    adjoint[id(part)] = adjoint[id(part)] + down if id(part) in adjoint else down
        return found

    def _gathered(self, down: Tensor, at: str, to: str) -> Tensor:
        return down if at == to else self.math.segments(self.shape, at, to).sum(down)

    def _pull(self, e: Expr, g: Tensor) -> list[tuple[str, Tensor]]:
        value = self.values[id(e)]
        match e:
            case Apply(op, _):
                slopes = PARTIALS[op](value, *self._aligned(e))
                return [(self.grains[id(e)], torch.where(g == 0, 0.0, g * slope)) for slope in slopes]
            case Reduce(op, arg, over):
                return [(self.grains[id(arg)], self._members(arg, over).pull(op, self._full(arg), value, g))]
            case Scan(_, _, over):
                linked = self._linked(over)
                link = torch.where(linked, self._aligned(e)[1], 0.0)
                into = scan(g.flip(0), link.roll(1).flip(0)).flip(0)
                return [(TOKEN, into), (TOKEN, torch.where(linked, into * value.roll(-1), 0.0))]
            case Shift(_, _, over):
                linked = self._linked(over)
                return [(TOKEN, torch.where(linked, g, 0.0).roll(1)), (TOKEN, torch.where(linked, 0.0, g))]
        return []
