"""Elementwise operations of the algebra on torch tensors: values and partial derivatives.

The same conventions as `rldsl.algebra.evaluate`: undefined points have IEEE values and gradient zero, ties of `min`
and `max` split the gradient evenly, `clip` passes it at the bounds. Columns are float64; conditions are 1.0 or 0.0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Partial = Callable[..., tuple[Tensor | float, ...]]


def _div(a: Tensor, b: Tensor) -> Tensor:
    undefined = torch.where(a == 0, torch.nan, torch.copysign(torch.full_like(a, torch.inf), a))
    return torch.where(b == 0, torch.where(a.isnan(), a, undefined), a / b)


def _pow(a: Tensor, b: Tensor) -> Tensor:
    return torch.where((a == 0) & (b < 0), torch.inf, torch.pow(a, b))


def _number(condition: Tensor) -> Tensor:
    return condition.to(torch.float64)


VALUES: dict[str, Callable[..., Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": _div, "pow": _pow, "neg": torch.neg,
    "exp": torch.exp, "log": torch.log, "abs": torch.abs, "sigmoid": torch.sigmoid,
    "min": torch.minimum, "max": torch.maximum,
    "clip": lambda x, low, high: torch.minimum(torch.maximum(x, low), high),
    "where": lambda c, a, b: torch.where(c != 0, a, b), "sg": lambda x: x,
    "lt": lambda a, b: _number(a < b), "le": lambda a, b: _number(a <= b), "gt": lambda a, b: _number(a > b),
    "ge": lambda a, b: _number(a >= b), "eq": lambda a, b: _number(a == b),
    "and": lambda a, b: _number((a != 0) & (b != 0)), "or": lambda a, b: _number((a != 0) | (b != 0)),
    "not": lambda a: _number(a == 0),
}


def _d_div(v: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    defined = b != 0
    return torch.where(defined, 1 / b, 0.0), torch.where(defined, -v / b, 0.0)


def _d_pow(v: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return torch.where(a != 0, b * _pow(a, b - 1), 0.0), torch.where(a > 0, v * torch.log(a), 0.0)


def _d_smaller(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    tie = 0.5 * _number(a == b)
    return _number(a < b) + tie, _number(b < a) + tie


# partial derivatives: (value, arguments) → one per argument; operations not listed have gradient zero
PARTIALS: dict[str, Partial] = {
    "add": lambda v, a, b: (1.0, 1.0), "sub": lambda v, a, b: (1.0, -1.0), "mul": lambda v, a, b: (b, a),
    "div": _d_div, "pow": _d_pow, "neg": lambda v, a: (-1.0,), "exp": lambda v, a: (v,),
    "log": lambda v, a: (torch.where(a > 0, 1 / a, 0.0),), "abs": lambda v, a: (torch.sign(a),),
    "sigmoid": lambda v, a: (v * (1 - v),),
    "min": lambda v, a, b: _d_smaller(a, b), "max": lambda v, a, b: _d_smaller(b, a),
    "clip": lambda v, x, low, high: (_number((low <= x) & (x <= high)), 0.0, 0.0),
    "where": lambda v, c, a, b: (0.0, _number(c != 0), _number(c == 0)),
}
