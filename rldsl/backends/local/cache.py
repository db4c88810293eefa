"""Keys and values of everything the alive rows have seen, written once and never moved while a row lives."""

from __future__ import annotations

import torch
from torch import Tensor

GROWTH = 64
"""Columns added at first; each later growth doubles what is there."""


class Cache:
    """Per layer [rows, columns, K, C] tensors of which the first `length` columns are filled.

    Columns are the padded prompt, then one per decoded step; `seen` (bool [rows, prompt columns]) masks the
    padding and is None where all prompts are equally long.
    """

    def __init__(self, prompts: list[tuple[Tensor, Tensor]], rows: Tensor, seen: Tensor | None, limit: int):
        """Copy each row's prompt, `rows` being its index in `prompts`; `limit` is the most steps to come."""
        self.length = prompts[0][0].shape[1]
        self._limit = self.length + limit
        self._layers = [tuple(self._grown(x.index_select(0, rows), self.length + GROWTH) for x in pair)
                        for pair in prompts]
        self.seen = None if seen is None else seen.index_select(0, rows)

    def _grown(self, x: Tensor, columns: int) -> Tensor:
        wider = x.new_empty(x.shape[0], min(columns, self._limit), *x.shape[2:])
        wider[:, :self.length] = x[:, :self.length]
        return wider

    def start_step(self) -> None:
        """Make room for one more column."""
        if self.length == self._layers[0][0].shape[1]:
            self._layers = [tuple(self._grown(x, 2 * self.length) for x in pair) for pair in self._layers]
        self.length += 1

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write this step's keys and values [rows, K, C]; all filled columns come back."""
        keys, values = self._layers[layer]
        keys[:, self.length - 1], values[:, self.length - 1] = k, v
        return keys[:, :self.length], values[:, :self.length]

    def mask(self) -> Tensor | None:
        """Which columns each row may look at, bool [rows, 1, 1, length], or None for all."""
        if self.seen is None:
            return None
        own = self.seen.new_ones(self.seen.shape[0], self.length - self.seen.shape[1])
        return torch.cat((self.seen, own), dim=1)[:, None, None]

    def keep(self, rows: Tensor) -> None:
        """Forget all other rows."""
        self._layers = [tuple(self._kept(x, rows) for x in pair) for pair in self._layers]
        if self.seen is not None:
            self.seen = self.seen.index_select(0, rows)

    def _kept(self, x: Tensor, rows: Tensor) -> Tensor:
        kept = x.new_empty(rows.shape[0], *x.shape[1:])
        torch.index_select(x[:, :self.length], 0, rows, out=kept[:, :self.length])
        return kept
