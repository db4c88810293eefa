"""top_k and top_p over a vocabulary spread over ranks: the tokens that one rank would keep, and no logits gathered.

For top_k each rank sends its k largest logits. For top_p the smallest kept logit is searched for among all float32
numbers: a token is kept as long as those above it have less than top_p of the probability, so each round all ranks add
up what is above a few numbers, whatever the vocabulary's size. `rldsl.backends.local.distribution` is the same on one
rank; as there, tokens that tie with the last kept one are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor

from rldsl.runtime.trajectory import SamplingOptions

if TYPE_CHECKING:
    from .logprob import Vocabulary

WAYS, ROUNDS = 16, 8
"""Each round leaves a sixteenth of the numbers that the floor may be; eight rounds leave one of 2³²."""
MAGNITUDE = 0x7FFFFFFF
"""Of the bits of a float32, those beside the sign."""


def truncated(logits: Tensor, options: SamplingOptions, v: Vocabulary) -> Tensor:
    """Float32 logits [n, V/tp] over the temperature, -inf for what top_k and then top_p remove."""
    if options.top_k is not None and options.top_k < v.size:
        logits = logits.masked_fill(logits < _kth_largest(logits, options.top_k, v), -torch.inf)
    if options.top_p is not None and options.top_p < 1:
        logits = logits.masked_fill(logits < _nucleus_floor(logits, options.top_p, v), -torch.inf)
    return logits


def _kth_largest(logits: Tensor, k: int, v: Vocabulary) -> Tensor:
    """Of the logits of all ranks, [n, 1]."""
    own = logits.topk(min(k, v.own), dim=1).values.contiguous()
    each = [torch.empty_like(own) for _ in range(v.ranks)]
    dist.all_gather(each, own, group=v.group)
    return torch.cat(each, 1).topk(k, dim=1).values[:, -1:]


def _nucleus_floor(logits: Tensor, top_p: float, v: Vocabulary) -> Tensor:
    """The smallest logit x of all ranks' such that those above x have less than `top_p` of the probability, [n, 1]."""
    ordered = logits.sort(dim=1, descending=True).values
    top = ordered[:, :1].contiguous()
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=v.group)
    mass = torch.nn.functional.pad((ordered - top).exp().cumsum(1, dtype=torch.float64), (1, 0))
    enough = top_p * _summed(mass[:, -1:].clone(), v)
    falling = -ordered
    low, high = _place(torch.full_like(top, -torch.inf)), _place(top)
    for _ in range(ROUNDS):
        steps = torch.arange(WAYS + 1, device=logits.device)
        places = low + (high - low) * steps // WAYS
        above = mass.gather(1, torch.searchsorted(falling, -_number(places[:, 1:-1])))
        short = (_summed(above, v) < enough).long()
        first = WAYS - 1 - short.sum(1, keepdim=True)  # places that are too low come first
        low, high = places.gather(1, first), places.gather(1, first + 1)
    return _number(high)


def _summed(x: Tensor, v: Vocabulary) -> Tensor:
    dist.all_reduce(x, group=v.group)
    return x


def _place(x: Tensor) -> Tensor:
    """Float32 numbers as int64, in the same order; both zeros are one."""
    bits = (x + 0.0).view(torch.int32).long()
    return torch.where(bits < 0, bits ^ MAGNITUDE, bits)


def _number(place: Tensor) -> Tensor:
    """The float32 number at a place."""
    return torch.where(place < 0, place ^ MAGNITUDE, place).to(torch.int32).view(torch.float32)
