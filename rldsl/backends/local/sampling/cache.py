"""Keys and values of everything the alive rows have seen, written once and never moved while a row lives."""

from __future__ import annotations

import torch
from torch import Tensor

from rldsl.backends.local.decoder.attention import padded

GROWTH = 64
"""Columns added at first; each later growth doubles what is there."""


class Cache:
    """Per layer keys and values [rows, K, columns, C], of which the first `length` columns are filled.

    Columns are the padded prompt, then one per decoded step. Reads come up to the next multiple of the vector
    width; `bias` [rows or 1, 1, 1, columns] is -inf for what is not filled or is prompt padding.
    """

    def __init__(self, prompts: list[tuple[Tensor, Tensor]], rows: Tensor, seen: Tensor | None, limit: int):
        """Copy each row's prompt, `rows` being its index in `prompts` ([G, P, K, C] pairs).

        `seen` (bool [G, P]) is False for prompt padding, None where all prompts are equally long; `limit` is the
        most steps to come.
        """
        self.length = prompts[0][0].shape[1]
        self._limit = padded(self.length + limit)
        columns = min(padded(self.length + GROWTH), self._limit)
        self._layers = [tuple(self._grown(x.index_select(0, rows).transpose(1, 2), columns) for x in pair)
                        for pair in prompts]
        bias = prompts[0][0].new_full((1 if seen is None else len(rows), 1, 1, self._limit), -torch.inf)
        bias[..., :self.length] = 0
        if seen is not None:
            bias[:, 0, 0, :self.length].masked_fill_(~seen.index_select(0, rows), -torch.inf)
        self._bias = bias

    def _grown(self, x: Tensor, columns: int) -> Tensor:
        wider = x.new_zeros(*x.shape[:2], columns, x.shape[3])
        wider[:, :, :self.length] = x[:, :, :self.length]
        return wider

    def start_step(self) -> None:
        """Make room for one more column."""
        columns = self._layers[0][0].shape[2]
        if self.length == columns:
            columns = min(2 * columns, self._limit)
            self._layers = [tuple(self._grown(x, columns) for x in pair) for pair in self._layers]
        self._bias[..., self.length] = 0
        self.length += 1

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Write this step's keys and values [rows, K, C]; what to attend to, and its bias."""
        keys, values = self._layers[layer]
        keys[:, :, self.length - 1], values[:, :, self.length - 1] = k, v
        read = padded(self.length)
        return keys[:, :, :read], values[:, :, :read], self._bias[..., :read]

    def keep(self, rows: Tensor) -> None:
        """Forget all other rows."""
        self._layers = [tuple(self._kept(x, rows) for x in pair) for pair in self._layers]
        if self._bias.shape[0] != 1:
            self._bias = self._bias.index_select(0, rows)

    def _kept(self, x: Tensor, rows: Tensor) -> Tensor:
        kept = x.new_zeros(rows.shape[0], *x.shape[1:])
        kept[:, :, :self.length] = x[:, :, :self.length].index_select(0, rows)
        return kept
