"""An update cut into micro-batches: forwards over pieces of its rows, and results put back in the rows' order."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rldsl.runtime.protocols import UpdateOptions
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .forward import forward
from .layout import micro_batches
from .model import Policy


def cut(rows: Sequence[Trajectory], micro_tokens: int | None, balance: bool) -> list[list[int]]:
    """Positions of `rows` in pieces of at most `micro_tokens` computed tokens: balanced, or simply in order."""
    if balance or micro_tokens is None:
        return micro_batches(rows, micro_tokens)
    pieces: list[list[int]] = []
    cost = micro_tokens
    for index, row in enumerate(rows):
        own = len(row.prompt) + len(row.tokens)
        if cost + own > micro_tokens:
            pieces.append([])
            cost = 0
        pieces[-1].append(index)
        cost += own
    return pieces


def quantities(policy: Policy, rows: Sequence[Trajectory], sampling: SamplingOptions, options: UpdateOptions,
               reference: Policy | None, grad: bool) -> dict[str, Tensor]:
    """What the terms read of the current policy, float32 over the action tokens of one piece."""
    passes = [options.wants] if options.one_forward else [(want,) for want in options.wants]
    found: dict[str, Tensor] = {}
    for wants in passes:
        found.update(forward(policy, rows, frozenset(wants), sampling, grad=grad, reference=reference))
    return found


def joined(parts: Sequence[Tensor], pieces: Sequence[Sequence[int]], lengths: Sequence[int]) -> Tensor:
    """Flat columns of pieces as one flat column in the order of the rows."""
    slots: list[Tensor] = [torch.empty(0)] * len(lengths)
    for part, piece in zip(parts, pieces, strict=True):
        for index, tokens in zip(piece, part.split([lengths[i] for i in piece]), strict=True):
            slots[index] = tokens
    return torch.cat(slots)


def shared_out(column: Tensor, pieces: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[Tensor]:
    """The inverse of `joined`: one flat column per piece."""
    slots = column.split(list(lengths))
    return [torch.cat([slots[i] for i in piece]) for piece in pieces]
