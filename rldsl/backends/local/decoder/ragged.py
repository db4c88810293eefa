"""Moving between a flat axis of runs and a padded rectangle, with cheap gradients both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rectangle:
    """Runs of `lengths` as rows of `width`. `pad` and `flat` are None where all runs are equally long.

    `pad` [rows · width] is the flat position of each slot (0 in empty slots); `flat` [size] the slot of each
    flat position.
    """

    lengths: tuple[int, ...]
    width: int
    size: int
    pad: Tensor | None
    flat: Tensor | None

    def spread(self, x: Tensor) -> Tensor:
        """Flat [size, …] as [rows, width, …]; empty slots hold some finite row."""
        if self.pad is not None:
            x = _Spread.apply(x, self.pad, self.flat)
        return x.view(len(self.lengths), self.width, *x.shape[1:])

    def collect(self, x: Tensor) -> Tensor:
        """[rows, width, …] as flat [size, …]; what stood in empty slots is dropped and gets no gradient."""
        x = x.reshape(-1, *x.shape[2:])
        return x if self.flat is None else _Collect.apply(x, self.flat)


def rectangle(lengths: Sequence[int], device: torch.device) -> Rectangle:
    """The rectangle of runs that lie one after another on a flat axis."""
    width, size = max(lengths, default=0), sum(lengths)
    if size == width * len(lengths):
        return Rectangle(tuple(lengths), width, size, None, None)
    counts = torch.tensor(lengths)
    starts = counts.cumsum(0) - counts
    column = torch.arange(width)
    filled = column < counts.unsqueeze(1)
    pad = torch.where(filled, starts.unsqueeze(1) + column, 0).flatten()
    flat = filled.flatten().nonzero().flatten()
    return Rectangle(tuple(lengths), width, size, pad.to(device), flat.to(device))


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, pad: Tensor, flat: Tensor) -> Tensor:
        ctx.save_for_backward(flat)
        return x.index_select(0, pad)

    @staticmethod
    def backward(ctx, grad: Tensor):
        # Every flat row fills exactly one slot that counts, so its gradient is read, not accumulated.
        return grad.index_select(0, ctx.saved_tensors[0]), None, None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, flat: Tensor) -> Tensor:
        ctx.save_for_backward(flat)
        ctx.slots = x.shape[0]
        return x.index_select(0, flat)

    @staticmethod
    def backward(ctx, grad: Tensor):
        padded = grad.new_zeros(ctx.slots, *grad.shape[1:])
        return padded.index_copy_(0, ctx.saved_tensors[0], grad), None


def gather_rows(x: Tensor, index: Tensor) -> Tensor:
    """x[index] on the first axis where `index` may repeat; gradients are summed.

    Goes through embedding: its backward on CPU is parallel, that of index_select handles row by row.
    """
    return torch.nn.functional.embedding(index, x.flatten(1)).unflatten(1, x.shape[1:])
