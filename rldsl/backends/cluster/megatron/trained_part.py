"""Which of a rank's parameters are trained: all, some layers, or low-rank additions to the matrices of these layers.

The same layers, additions and first numbers as in the embedded backend, in any layout.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from torch import Tensor, nn

from rldsl.backends.local.decoder.trained_part import Part, chosen_layers, drawn

from .convert import cut
from .linear import Column, Row
from .model import Trunk
from .shape import Shape


def restrict(trunk: Trunk, shape: Shape, part: Part, seed: int) -> None:
    """Leaves a gradient only to the parameters of the part, adding low-rank additions where it has a rank.

    RecipeError RL204 where no layer of the whole model lies in the part. A stage may be left without any.
    """
    chosen = chosen_layers(shape.dense.layers, part.layers)
    trunk.requires_grad_(part.layers is None and part.rank is None)
    for layer in trunk.decoder.layers:
        index = layer.layer_number - 1
        if index not in chosen:
            continue
        if part.rank is None:
            layer.requires_grad_(True)
        else:
            _add(layer, part, index, seed)


def matrices(layer: nn.Module) -> dict[str, Column | Row]:
    """The matrices of a dense layer by the names that the embedded backend has for them."""
    attention, mlp = layer.self_attention, layer.mlp
    return {"qkv": attention.linear_qkv, "out": attention.linear_proj, "gate_up": mlp.linear_fc1,
            "down": mlp.linear_fc2}


def _add(layer: nn.Module, part: Part, index: int, seed: int) -> None:
    ranks, rank = ps.get_tensor_model_parallel_world_size(), ps.get_tensor_model_parallel_rank()
    for name, matrix in matrices(layer).items():
        rows, columns = matrix.weight.shape
        device, scale = matrix.weight.device, part.alpha / part.rank
        if isinstance(matrix, Row):
            a = cut("columns", drawn(seed, index, name, part.rank, columns * ranks), ranks, rank).contiguous()
            b = torch.zeros(rows, part.rank)
        else:
            a = drawn(seed, index, name, part.rank, columns)
            b = torch.zeros((2, rows // 2, part.rank) if name == "gate_up" else (rows, part.rank))
        matrix.adapt(a.to(device), b.to(device), scale)


def adapted(trunk: nn.Module) -> Iterator[Column | Row]:
    """This rank's matrices that have an addition."""
    yield from (m for m in trunk.modules() if isinstance(m, (Column, Row)) and m.adapted)


@torch.no_grad()
def rounded_away(trunk: Trunk) -> float:
    """As the embedded backend's `rounded_away`, over the matrices of all ranks; all of them call it together."""
    sums = torch.zeros(2, dtype=torch.float64, device=torch.cuda.current_device())
    for matrix in adapted(trunk):
        own = matrix.weight.float()
        added, took = matrix.merged() - own, matrix.used().float() - matrix.rounded(own).float()
        sums += torch.stack([_square(took - added), _square(added)])
    dist.all_reduce(sums, group=ps.get_model_parallel_group())
    lost, whole = sums.tolist()
    return (lost / whole) ** 0.5 if whole else 0.0


def _square(tensor: Tensor) -> Tensor:
    return tensor.double().square().sum()
