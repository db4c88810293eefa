"""Rotary positions as complex factors: pairs of adjacent features are one complex number.

Hugging Face pairs feature j with j + D/2; weights are permuted once when loaded (`interleave`), so that a
rotation is a single complex multiplication. Scores are unchanged, as queries and keys are permuted alike.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .architecture import Architecture, Llama3Scaling


def frequencies(architecture: Architecture) -> Tensor:
    """Radians per token of each feature pair, float32 [head_width / 2]."""
    exponents = torch.arange(0, architecture.head_width, 2, dtype=torch.int64).float() / architecture.head_width
    inverse = 1.0 / architecture.rope_theta**exponents
    if architecture.rope_llama3 is not None:
        return _stretch_llama3(inverse, architecture.rope_llama3)
    return inverse / architecture.rope_factor


def _stretch_llama3(inverse: Tensor, scaling: Llama3Scaling) -> Tensor:
    wavelength = 2 * math.pi / inverse
    blend = (scaling.original / wavelength - scaling.low) / (scaling.high - scaling.low)
    blend = blend.clamp(0, 1)
    return (1 - blend) * inverse / scaling.factor + blend * inverse


def rotation(positions: Tensor, inverse: Tensor) -> Tensor:
    """Complex factors complex64 [..., 1, head_width / 2] of integer `positions` [...]."""
    angles = positions.float().unsqueeze(-1) * inverse
    return torch.polar(torch.ones_like(angles), angles).unsqueeze(-2)


def interleave(weight: Tensor, head_width: int) -> Tensor:
    """Rows of a query or key projection [heads · head_width, …] from split halves to adjacent pairs."""
    heads = weight.unflatten(0, (-1, 2, head_width // 2))
    return heads.transpose(1, 2).reshape(weight.shape)


def split_halves(weight: Tensor, head_width: int) -> Tensor:
    """The inverse of `interleave`."""
    heads = weight.unflatten(0, (-1, head_width // 2, 2))
    return heads.transpose(1, 2).reshape(weight.shape)
