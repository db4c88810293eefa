"""How a policy's forward computes beside its dtype: the head's precision, quantised weights, recorded candidates.

Sampling and training share one set of tensors, so both see the same rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Numerics:
    """`head` is the dtype of the head's product (none: the policy's own); `quantise` rounds a projection's weights
    [out, in] (none: nothing is rounded); `candidates` records what truncation left to choose from and trains on it; for
    `equal_bits` sampling computes what training computes, and keeps nothing."""

    head: torch.dtype | None = None
    quantise: Callable[[Tensor], Tensor] | None = None
    candidates: bool = False
    equal_bits: bool = False

    def rounded(self, weight: Tensor) -> Tensor:
        """The weights of a forward. The gradient passes to `weight` as if nothing had been rounded."""
        if self.quantise is None:
            return weight
        return weight + (self.quantise(weight.detach()) - weight.detach())


def numerics(asked: Mapping[str, Any]) -> Numerics:
    """From the options that alignment puts on the graph's nodes."""
    head = torch.float32 if asked.get("head_dtype") == "float32" else None
    return Numerics(head, FORMATS.get(asked.get("weights")), asked.get("replay_candidates", False),
                    asked.get("bit_equal", False))


@dataclass(frozen=True)
class Format:
    """Numbers of few bits in blocks of `rows` × `columns` elements that share a scale. `scale` gives the scales from
    the largest magnitudes of the blocks, `nearest` the numbers of the format nearest to elements over their scale."""

    rows: int
    columns: int
    scale: Callable[[Tensor], Tensor]
    nearest: Callable[[Tensor], Tensor]

    def __call__(self, weight: Tensor) -> Tensor:
        """Float32 [out, in] rounded to the format, blocks counted from the first row and column."""
        rows, columns = weight.shape
        padded = F.pad(weight, (0, -columns % self.columns, 0, -rows % self.rows))
        blocks = padded.unflatten(0, (-1, self.rows)).unflatten(2, (-1, self.columns))
        scale = self.scale(blocks.abs().amax((1, 3), keepdim=True))
        return (self.nearest(blocks / scale) * scale).flatten(2, 3).flatten(0, 1)[:rows, :columns]


TINY = 2.0**-126
"""A block's largest magnitude counts at least this much, so that zeros have a scale too."""
FP8_MAX = 448.0
"""The largest number of E4M3."""


def _power_of_two(largest: Tensor) -> Tensor:
    return torch.exp2(torch.floor(torch.log2(largest.clamp_min(TINY))) - 2)


def _e2m1(x: Tensor) -> Tensor:
    size = x.abs()
    # Between two neighbours the grid is uniform within each binade, so rounding there is to the nearest even step.
    step = torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
    return (torch.round(size / step) * step).clamp_max(6.0).copysign(x)


mxfp4 = Format(1, 32, _power_of_two, _e2m1)
"""Blocks of 32 along `in`, scale 2^(⌊log2 max⌋ − 2), elements to the nearest of E2M1, ties to the even one, saturating
at 6. OCP Microscaling Formats 1.0, section 6.3."""
fp8 = Format(128, 128, lambda largest: largest.clamp_min(TINY) / FP8_MAX,
             lambda x: x.to(torch.float8_e4m3fn).to(x.dtype))
"""E4M3 in blocks of 128 × 128, scaled so that a block's largest number is 448."""

FORMATS: Mapping[str | None, Format] = {"mxfp4": mxfp4, "fp8": fp8}
