"""Counter-based randomness: every uniform is a hash of where it is used, so no order or batching can change it."""

from __future__ import annotations

import torch
from torch import Tensor

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def uniforms(seed: int, batch: int, group: Tensor, sibling: Tensor, begun: Tensor, steps: range) -> Tensor:
    """Float64 in (0, 1), [rows, steps]; `group`, `sibling` and `begun`, from where a row counts, are int64 [rows].

    Each coordinate is absorbed by one round of splitmix64 (Steele, Lea, Flood 2014).
    """
    state = _absorb(_absorb(torch.zeros_like(group), seed), batch)
    state = _absorb(_absorb(state, group), sibling)
    step = torch.arange(steps.start, steps.stop, device=group.device)
    state = _absorb(state.unsqueeze(1), begun.unsqueeze(1) + step.unsqueeze(0))
    return (_shift(state, 11).double() + 0.5) * 2.0**-53


def _absorb(state: Tensor, value: Tensor | int) -> Tensor:
    if isinstance(value, int):
        value = _signed(value & _MASK)
    z = state * _signed(_MIX[0]) + value + _signed(_GOLDEN)
    z = (z ^ _shift(z, 30)) * _signed(_MIX[0])
    z = (z ^ _shift(z, 27)) * _signed(_MIX[1])
    return z ^ _shift(z, 31)


def _shift(z: Tensor, bits: int) -> Tensor:
    """Logical right shift; torch's is arithmetic."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
