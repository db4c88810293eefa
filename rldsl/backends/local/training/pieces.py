"""Rows cut into micro-batches: forwards over pieces, and results put back in the rows' order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rldsl.backends.local.decoder.layout import micro_batches
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Trajectory


def cut(rows: Sequence[Trajectory], cutting: Cutting) -> list[list[int]]:
    """Positions of `rows` in pieces of at most `micro_tokens` computed tokens: balanced, or simply in order."""
    if cutting.balance or cutting.micro_tokens is None:
        return micro_batches(rows, cutting.micro_tokens)
    pieces: list[list[int]] = []
    cost = cutting.micro_tokens
    for index, row in enumerate(rows):
        own = len(row.prompt) + len(row.tokens)
        if cost + own > cutting.micro_tokens:
            pieces.append([])
            cost = 0
        pieces[-1].append(index)
        cost += own
    return pieces


def measured(rows: Sequence[Trajectory], cutting: Cutting,
             forward: Callable[[list[Trajectory]], dict[str, Tensor]]) -> dict[str, Tensor]:
    """What `forward` gives for each piece, as flat columns over all rows."""
    pieces = cut(rows, cutting) or [[]]
    parts = [forward([rows[i] for i in piece]) for piece in pieces]
    lengths = [len(row.tokens) for row in rows]
    return {name: joined([part[name] for part in parts], pieces, lengths) for name in parts[0]}


def joined(parts: Sequence[Tensor], pieces: Sequence[Sequence[int]], lengths: Sequence[int]) -> Tensor:
    """Flat columns of pieces as one flat column in the order of the rows."""
    if len(parts) == 1:
        return parts[0]
    slots: list[Tensor] = [torch.empty(0)] * len(lengths)
    for part, piece in zip(parts, pieces, strict=True):
        for index, tokens in zip(piece, part.split([lengths[i] for i in piece]), strict=True):
            slots[index] = tokens
    return torch.cat(slots)


def shared_out(column: Tensor, pieces: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[Tensor]:
    """The inverse of `joined`: one flat column per piece."""
    if len(pieces) == 1:
        return [column]
    slots = column.split(list(lengths))
    return [torch.cat([column[:0], *(slots[i] for i in piece)]) for piece in pieces]
