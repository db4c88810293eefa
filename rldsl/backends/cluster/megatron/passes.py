"""Micro-batches through Megatron's pipeline: forward, and backward where gradients are wanted, as plain sums."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from megatron.core.distributed import DistributedDataParallel
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel import gather_from_sequence_parallel_region
from torch import Tensor

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import Trajectory

from .convert import padded_vocabulary
from .logprob import Vocabulary
from .model import CriticTrunk, Trunk
from .pack import Packed, pack, rectangle, share_out
from .routes import replayed, require_whole
from .shape import Shape

After = Callable[[int, Tensor], tuple[Tensor, Any]]
"""(number of the micro-batch, states [b·s, D] on the last stage) → (loss, result)."""


@dataclass(frozen=True)
class Held:
    """This rank's part of one model; `ddp` where it is trained. With `replays` it repeats the experts of rollouts,
    with `wide` its head multiplies in float32."""

    trunk: Trunk
    shape: Shape
    ddp: DistributedDataParallel | None = None
    replays: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Work:
    """What this rank computes of some rows: its pieces, as positions, and how they are packed; beside them the pieces
    of every data-parallel rank."""

    pieces: tuple[tuple[int, ...], ...]
    packs: tuple[Packed, ...]
    every: tuple[tuple[tuple[int, ...], ...], ...]


def shard(held: Held, rows: Sequence[Trajectory], cutting: Cutting) -> Work:
    """This rank's share of rows. Where ranks meet in a layer (experts) or stage (pipeline), all shapes are alike.
    RunError RL617 for rows whose experts cannot be repeated."""
    if held.replays:
        require_whole(rows)
    ranks, stages = ps.get_data_parallel_world_size(), ps.get_pipeline_model_parallel_world_size()
    return together(held, rows, share_out(rows, ranks, stages, cutting).pieces)


def restricted(held: Held, rows: Sequence[Trajectory], work: Work, kept: Collection[int]) -> Work:
    """The same pieces with some of their rows only, as another model computes them; rows stay on their ranks."""
    return together(held, rows, tuple(tuple(tuple(i for i in piece if i in kept) for piece in pieces)
                                      for pieces in work.every))


def together(held: Held, rows: Sequence[Trajectory], every: tuple[tuple[tuple[int, ...], ...], ...]) -> Work:
    """This rank's share of rows whose pieces are known for every data-parallel rank."""
    stages = ps.get_pipeline_model_parallel_world_size()
    own = every[ps.get_data_parallel_rank()]
    multiple = ps.get_tensor_model_parallel_world_size() if held.trunk.config.sequence_parallel else 1
    alike = stages > 1 or ps.get_expert_model_parallel_world_size() > 1
    together = [[rows[i] for i in piece] for pieces in every for piece in pieces]
    device = torch.cuda.current_device()
    packs = []
    for piece in own:
        members = [rows[i] for i in piece]
        packs.append(pack(members, rectangle(together if alike else [members], multiple), device))
    return Work(own, tuple(packs), every)


def run(held: Held, work: Work, rows: Sequence[Trajectory], after: After, *, grad: bool) -> list[Any]:
    """The results of `after`, one per micro-batch, on the last stage; [] on others.

    With `grad` the gradient of the losses' sum over all ranks is left in the model's buffers. `rows` are all rows.
    """
    model = held.ddp if grad else held.trunk

    def step(numbers: Any, chunk: Any) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Any]]]:
        index = next(numbers)
        packed = work.packs[index]
        if held.replays:
            replayed(held.trunk, [rows[i] for i in work.pieces[index]], packed)
        out = chunk(packed.ids, packed.positions, packed.mask)

        def finish(states: Tensor) -> tuple[Tensor, Tensor, Any]:
            loss, result = after(index, _flat(held, states))
            return loss, torch.zeros((), dtype=torch.int, device=states.device), result

        return out, finish

    bins, width = work.packs[0].ids.shape
    with torch.set_grad_enabled(grad):
        return get_forward_backward_func()(
            forward_step_func=step, data_iterator=iter(range(len(work.packs))), model=[model],
            num_microbatches=len(work.packs), seq_length=width, micro_batch_size=bins, forward_only=not grad)


def _flat(held: Held, states: Tensor) -> Tensor:
    """States [s, b, D], spread over ranks where sequences are, as [b·s, D]."""
    if held.trunk.config.sequence_parallel:
        # a head over the vocabulary gives each rank a share of the gradient, a critic's gives each rank all of it
        shares = not isinstance(held.trunk, CriticTrunk)
        states = gather_from_sequence_parallel_region(states, tensor_parallel_output_grad=shares)
    return states.transpose(0, 1).flatten(0, 1)


def vocabulary(shape: Shape) -> Vocabulary:
    """The tokens that this rank's head knows."""
    ranks, rank = ps.get_tensor_model_parallel_world_size(), ps.get_tensor_model_parallel_rank()
    own = padded_vocabulary(shape.dense.vocabulary, ranks) // ranks
    return Vocabulary(ps.get_tensor_model_parallel_group(), ranks, rank * own, own, shape.dense.vocabulary)


class Trouble:
    """The first thing that was found wrong here. A rank alone must not stop: the others would wait for it forever."""

    def __init__(self) -> None:
        self.found: Diagnostic | None = None

    def meet(self, error: RunError) -> None:
        """Notes an error; the pass goes on to its end."""
        self.found = self.found or error.diagnostic

    def agree(self) -> None:
        """All ranks together: RunError on every one of them where any has found something."""
        flag = torch.tensor([self.found is not None], dtype=torch.int32, device=torch.cuda.current_device())
        dist.all_reduce(flag)
        if int(flag):
            said: list[Diagnostic | None] = [None] * dist.get_world_size()
            dist.all_gather_object(said, self.found)
            raise RunError(next(d for d in said if d is not None))
