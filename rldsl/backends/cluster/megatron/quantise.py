"""Weights rounded to numbers of few bits, where ranks hold parts of a matrix: the blocks are those of the whole matrix,
as the embedded backend lays it out, so the layout changes no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from rldsl.backends.local.decoder.architecture import Architecture
from rldsl.backends.local.decoder.numerics import Format
from rldsl.backends.local.decoder.rotary import split_halves

from .convert import cut, merged
from .convert_names import TABLES, located
from .linear import Column, Row
from .model import Trunk
from .shape import Shape


@dataclass(frozen=True)
class Blocks:
    """The block that each row and each column of this rank's part lies in, int64 [rows] and [columns], and how many
    there are: `size`. Where `group` is given, its ranks hold elements of the same blocks."""

    format: Format
    rows: Tensor
    columns: Tensor
    size: tuple[int, int]
    group: Any = None

    def __call__(self, part: Tensor) -> Tensor:
        """Float32 [rows, columns], rounded. All ranks of the group call it together."""
        high = part.new_zeros(self.size[0], part.shape[1]).scatter_reduce_(
            0, self.rows.unsqueeze(1).expand_as(part), part.abs(), "amax")
        largest = part.new_zeros(self.size).scatter_reduce_(1, self.columns.expand_as(high), high, "amax")
        if self.group is not None:
            dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=self.group)
        scale = self.format.scale(largest)[self.rows][:, self.columns]
        return self.format.nearest(part / scale) * scale


def quantise(trunk: Trunk, shape: Shape, format: Format) -> None:
    """Has every matrix of a layer compute with rounded weights; embedding, router, norms and head stay as they are."""
    for name, module in trunk.named_modules():
        if isinstance(module, (Column, Row)):
            layout = TABLES[shape.kind][located(f"{name}.weight")[0]].layout
            module.blocks = _blocks(format, layout, shape.dense, module)


def _blocks(format: Format, layout: str, a: Architecture, module: Column | Row) -> Blocks:
    ranks, rank, device = module.tp_group.size(), module.tp_group.rank(), module.weight.device
    rows, columns = module.weight.shape
    whole = (rows * ranks, columns) if isinstance(module, Column) else (rows, columns * ranks)
    every = [tuple(places // size for places, size in zip(
        _places(layout, whole, a, ranks, r), (format.rows, format.columns), strict=True)) for r in range(ranks)]
    if any(_meet(every[rank], every[r]) for r in range(ranks) if r != rank):
        size, group, own = (-(-whole[0] // format.rows), -(-whole[1] // format.columns)), module.tp_group, every[rank]
    else:
        found = [numbers.unique(return_inverse=True) for numbers in every[rank]]
        size, group, own = (len(found[0][0]), len(found[1][0])), None, tuple(number for _, number in found)
    return Blocks(format, own[0].to(device), own[1].to(device), size, group)


def _meet(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    """Whether two ranks have elements of one block: of the same blocks of rows and the same ones of columns."""
    return all(bool(torch.isin(a, b).any()) for a, b in zip(one, other, strict=True))


def _places(layout: str, whole: tuple[int, int], a: Architecture, ranks: int, rank: int) -> tuple[Tensor, Tensor]:
    """Which rows and which columns of the embedded backend's matrix a rank's part consists of."""
    rows, columns = torch.arange(whole[0]), torch.arange(whole[1])
    if layout == "columns":
        return rows, columns.chunk(ranks)[rank]
    if layout == "heads":
        q, k, v = rows.split([a.heads * a.head_width, *[a.kv_heads * a.head_width] * 2])
        rows = merged(layout, [split_halves(q, a.head_width), split_halves(k, a.head_width), v], a, ranks)
    return cut(layout, rows, ranks, rank), columns
