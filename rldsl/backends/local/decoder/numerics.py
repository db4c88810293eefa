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


BLOCK = 32
"""Elements of MXFP4 that share a scale."""


def mxfp4(weight: Tensor) -> Tensor:
    """Float32 [out, in] rounded to MXFP4: blocks of 32 along `in`, scale 2^(⌊log2 max⌋ − 2), elements to the nearest
    of E2M1, ties to the even one, saturating at 6. OCP Microscaling Formats 1.0, section 6.3.
    """
    rows, columns = weight.shape
    blocks = F.pad(weight, (0, -columns % BLOCK)).view(rows, -1, BLOCK)
    largest = blocks.abs().amax(-1, keepdim=True)
    scale = torch.exp2(torch.floor(torch.log2(largest.clamp_min(2.0**-126))) - 2)
    size = (blocks / scale).abs()
    # Between two neighbours the grid is uniform within each binade, so rounding there is to the nearest even step.
    step = torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
    rounded = (torch.round(size / step) * step).clamp_max(6.0)
    return (rounded.copysign(blocks) * scale).view(rows, -1)[:, :columns]


TILE, FP8_MAX = 128, 448.0
"""Of FP8: rows and columns of a block that share a scale, and the largest E4M3 number."""


def fp8(weight: Tensor) -> Tensor:
    """Float32 [out, in] rounded to E4M3 in blocks of 128 × 128, scaled so that a block's largest number is 448."""
    rows, columns = weight.shape
    padded = F.pad(weight, (0, -columns % TILE, 0, -rows % TILE))
    tiles = padded.unflatten(0, (-1, TILE)).unflatten(2, (-1, TILE))
    scale = tiles.abs().amax((1, 3), keepdim=True).clamp_min(2.0**-126) / FP8_MAX
    rounded = (tiles / scale).to(torch.float8_e4m3fn).to(weight.dtype) * scale
    return rounded.flatten(2, 3).flatten(0, 1)[:rows, :columns]


FORMATS: Mapping[str | None, Callable[[Tensor], Tensor]] = {"mxfp4": mxfp4, "fp8": fp8}
