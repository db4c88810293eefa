"""Ragged rows as rectangles for Megatron: whole rows side by side in bins, and a mask that keeps them apart.

Rotary positions are relative, so a row may begin anywhere in its bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rldsl.backends.local.decoder.layout import candidates
from rldsl.backends.local.training.pieces import cut
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Trajectory

MICRO_TOKENS = 2**14
"""Tokens of one forward where the recipe does not say."""


@dataclass(frozen=True)
class Packed:
    """One micro-batch. `ids` [b, s]; `mask` [b, 1, s, s], True where a position may not look.

    `read` is, for every action token in the order of the rows, the flat position in [b, s] whose state predicts it;
    `targets` are these tokens, `candidates` [tokens, most] what each was chosen from, where that is recorded. `places`
    has for each row its flat first position.
    """

    ids: Tensor
    mask: Tensor
    read: Tensor
    targets: Tensor
    candidates: Tensor | None
    places: tuple[int, ...]

    @property
    def positions(self) -> Tensor:
        """Counted along each bin, [b, s]."""
        return torch.arange(self.ids.shape[1], device=self.ids.device).expand_as(self.ids)


@dataclass(frozen=True)
class Shards:
    """Every data-parallel rank's rows in pieces, as positions; all ranks have equally many, some of them empty."""

    pieces: tuple[tuple[tuple[int, ...], ...], ...]

    def rows(self, rank: int) -> list[int]:
        """All positions of one rank, piece by piece."""
        return [i for piece in self.pieces[rank] for i in piece]


def share_out(rows: Sequence[Trajectory], ranks: int, stages: int, cutting: Cutting) -> Shards:
    """Rows over data-parallel ranks and then over micro-batches, the same answer on every rank.

    Balanced by tokens, largest row first, or in order without `balance`. With several pipeline `stages` there are at
    least as many pieces, so that no stage only waits.
    """
    tokens = [_inputs(row) for row in rows]
    limit = cutting.micro_tokens or MICRO_TOKENS
    if cutting.micro_tokens is None and stages > 1:
        limit = min(limit, max(1, -(-sum(tokens) // (ranks * stages))))
    parts = _balanced(tokens, ranks) if cutting.balance else _in_order(tokens, ranks)
    limited = Cutting(limit, cutting.balance, cutting.share_prompts)
    pieces = [[tuple(part[i] for i in piece) for piece in cut([rows[p] for p in part], limited)] for part in parts]
    most = max(1, *map(len, pieces))
    return Shards(tuple(tuple(p) + ((),) * (most - len(p)) for p in pieces))


def rectangle(pieces: Sequence[Sequence[Trajectory]], multiple: int = 1) -> tuple[int, int]:
    """(bins, width) in which each of the pieces fits: as wide as the longest row, in steps of `multiple`."""
    width = max([1, *(_inputs(row) for rows in pieces for row in rows)])
    width = -(-width // multiple) * multiple
    return max(1, *(len(_bins(rows, width)) for rows in pieces)), width


def pack(rows: Sequence[Trajectory], size: tuple[int, int], device: torch.device | str) -> Packed:
    """The rows in `size` = (bins, width), as `rectangle` gives it; bins that stay empty hold padding."""
    bins, width = size
    start = [0] * len(rows)
    for number, members in enumerate(_bins(rows, width)):
        at = number * width
        for index in members:
            start[index] = at
            at += _inputs(rows[index])
    ids = torch.zeros(bins * width, dtype=torch.int64)
    owner = torch.full((bins * width,), -1, dtype=torch.int64)
    for index, row in enumerate(rows):
        inputs, first = (*row.prompt, *row.tokens[:-1]), start[index]
        ids[first:first + len(inputs)] = torch.tensor(inputs, dtype=torch.int64)
        owner[first:first + len(inputs)] = index
    read = [start[i] + len(row.prompt) - 1 + t for i, row in enumerate(rows) for t in range(len(row.tokens))]
    targets = [token for row in rows for token in row.tokens]
    owner = owner.view(bins, width)
    apart = owner.unsqueeze(2) != owner.unsqueeze(1)
    ahead = ~torch.ones(width, width, dtype=torch.bool).tril()
    return Packed(ids.view(bins, width).to(device), (apart | ahead).unsqueeze(1).to(device),
                  torch.tensor(read, dtype=torch.int64, device=device),
                  torch.tensor(targets, dtype=torch.int64, device=device), candidates(rows, device), tuple(start))


def _bins(rows: Sequence[Trajectory], width: int) -> list[list[int]]:
    """First fit, longest row first: the rows in each bin."""
    bins: list[list[int]] = []
    left: list[int] = []
    for index in sorted(range(len(rows)), key=lambda i: (-_inputs(rows[i]), i)):
        own = _inputs(rows[index])
        at = next((b for b, space in enumerate(left) if own <= space), None)
        if at is None:
            bins.append([index])
            left.append(width - own)
        else:
            bins[at].append(index)
            left[at] -= own
    return bins


def _inputs(row: Trajectory) -> int:
    """Tokens that are computed: the last token of a response predicts nothing."""
    return len(row.prompt) + max(len(row.tokens) - 1, 0)


def _balanced(tokens: Sequence[int], ranks: int) -> list[list[int]]:
    loads, parts = [0] * ranks, [[] for _ in range(ranks)]
    for index in sorted(range(len(tokens)), key=lambda i: (-tokens[i], i)):
        least = min(range(ranks), key=loads.__getitem__)
        loads[least] += tokens[index]
        parts[least].append(index)
    return [sorted(part) for part in parts]


def _in_order(tokens: Sequence[int], ranks: int) -> list[list[int]]:
    size = -(-len(tokens) // ranks)
    return [list(range(r * size, min((r + 1) * size, len(tokens)))) for r in range(ranks)]
