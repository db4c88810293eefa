"""The matrices of a layer as a forward computes with them: a low-rank addition merged, rounded to few bits.

What is computed with is one matrix, as in the embedded backend, so what is exported is what was trained with. Of
W + s·B·A, A [rank, in] and B [out, rank], each rank holds what belongs to its rows or columns of W; the other factor is
whole on every rank, and its gradient is the sum over the ranks of W.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from megatron.core.tensor_parallel import copy_to_tensor_model_parallel_region
from megatron.core.tensor_parallel.layers import (
    ColumnParallelLinear,
    RowParallelLinear,
    set_tensor_model_parallel_attributes,
)
from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint
from torch import Tensor, nn

from rldsl.backends.local.decoder.numerics import Numerics

A, B = "addition_a", "addition_b"
"""The parameters of an addition."""


class _Matrix(nn.Module):
    """Beside one of Megatron's linear layers: `weight`, after `adapt` the addition to it, and how both are rounded."""

    scale = 0.0
    blocks: Callable[[Tensor], Tensor] | None = None

    @property
    def adapted(self) -> bool:
        """Whether there is an addition."""
        return A in self._parameters

    def merged(self) -> Tensor:
        """This rank's part of the matrix, its addition included: in float32 then."""
        if not self.adapted:
            return self.weight
        a, b = self._factors()
        return torch.addmm(self.weight.float(), b, a, alpha=self.scale)

    def used(self) -> Tensor:
        """What a forward multiplies with."""
        return self.rounded(self.merged())

    def rounded(self, matrix: Tensor) -> Tensor:
        """A matrix of this shape in the dtype of the model. The gradient passes as if nothing had been rounded."""
        return Numerics(quantise=self.blocks).rounded(matrix if self.blocks is None else matrix.float()).to(
            self.weight.dtype)

    def _adapt(self, a: Tensor, b: Tensor, scale: float, split: tuple[str, int]) -> None:
        """Registers the factors, in float32; `split` says which of them is in parts, and along which dimension."""
        self.scale = scale
        for name, factor in ((A, a), (B, b)):
            self.register_parameter(name, nn.Parameter(factor.float()))
        name, dimension = split
        set_tensor_model_parallel_attributes(self._parameters[name], True, dimension, 1)

    def _forward_impl(self, input: Tensor, weight: Tensor, **others: Any) -> Tensor:
        return super()._forward_impl(input=input, weight=self.used(), **others)

    def _sharded(self, axes: dict[str, int], prefix: str, offsets: tuple, metadata: dict) -> dict:
        """As Megatron's own, where the factors are parameters too."""
        return make_sharded_tensors_for_checkpoint(
            self.state_dict(prefix="", keep_vars=True), prefix, axes, offsets, tp_group=self.tp_group,
            dp_cp_group=metadata["dp_cp_group"])


class Column(_Matrix, ColumnParallelLinear):
    """Rows of W on this rank, and the same rows of B. Where W stacks two matrices B is [2, rows of one, rank], so that
    it is cut along one dimension as W is not."""

    def adapt(self, a: Tensor, b: Tensor, scale: float) -> None:
        """Adds scale · B·A: `a` [rank, in] whole, `b` this rank's rows."""
        self._adapt(a, b, scale, (B, b.dim() - 2))

    def _factors(self) -> tuple[Tensor, Tensor]:
        whole = copy_to_tensor_model_parallel_region(self.addition_a, group=self.tp_group)
        return whole, self.addition_b.flatten(0, -2)

    def sharded_state_dict(self, prefix: str = "", sharded_offsets: tuple = (), metadata: Any = None) -> dict:
        """See Megatron's."""
        axes = {"weight": 0, "bias": 0}
        if self.adapted:
            axes[B] = self.addition_b.dim() - 2
        return self._sharded(axes, prefix, sharded_offsets, metadata)


class Row(_Matrix, RowParallelLinear):
    """Columns of W on this rank, and the same columns of A."""

    def adapt(self, a: Tensor, b: Tensor, scale: float) -> None:
        """Adds scale · B·A: `a` this rank's columns, `b` [out, rank] whole."""
        self._adapt(a, b, scale, (A, 1))

    def _factors(self) -> tuple[Tensor, Tensor]:
        return self.addition_a, copy_to_tensor_model_parallel_region(self.addition_b, group=self.tp_group)

    def sharded_state_dict(self, prefix: str = "", sharded_offsets: tuple = (), metadata: Any = None) -> dict:
        """See Megatron's."""
        return self._sharded({"weight": 1, A: 1}, prefix, sharded_offsets, metadata)
