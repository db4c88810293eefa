"""Divergences between the policy and a frozen model from vocabularies spread over ranks, without gathering logits.

Both distributions exist on each rank for its own tokens, a few rows at a time, and are computed again in the backward
pass. Between ranks travel maxima and sums, and for a top-k each rank's k largest numbers of the frozen model's.
`rldsl.backends.local.training.divergence` is the same on one rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from rldsl.algebra.divergence import Divergence
from rldsl.backends.local.training.divergence import Sides, terms
from rldsl.backends.local.training.logprob import CHUNK_LOGITS
from rldsl.runtime.trajectory import SamplingOptions

from .logprob import Reading, Vocabulary, largest, policy_logits, product, rows_of, total_of


@dataclass(frozen=True)
class _Spec(Reading):
    what: Divergence


class _Parts(NamedTuple):
    """Each row's divergence and Σ p · ∂f/∂p over all ranks, [n]; p · ∂f/∂p and p of this rank's tokens, [n, V/tp]."""

    value: Tensor
    slopes: Tensor
    slope: Tensor
    p: Tensor


def token_divergence(sides: Sides, targets: Tensor, vocabulary: Vocabulary, options: SamplingOptions, what: Divergence,
                     *, candidates: Tensor | None = None, wide: bool = False, reduced: bool = True) -> Tensor:
    """The divergence at each row, float32 [N], the same on every rank; gradients reach the policy's states and head.

    The states of `sides` are the same on every rank, the heads [V/tp, D] are this rank's. targets, `candidates`, `wide`
    and `reduced` as for `logprob.token_statistics`.
    """
    rows = max(16, CHUNK_LOGITS // (2 * sides.head.shape[0]))
    return _TokenDivergence.apply(*sides, targets, candidates, _Spec(vocabulary, options, wide, rows, reduced, what))


def _parts(hidden: Tensor, head: Tensor, other_hidden: Tensor, other_head: Tensor, targets: Tensor,
           candidates: Tensor | None, spec: _Spec) -> _Parts:
    what, v = spec.what, spec.vocabulary
    own = policy_logits(hidden, head, targets, candidates, spec) / what.temperature
    other = product(other_hidden, other_head, spec).float() / (spec.options.temperature * what.temperature)
    kept = own != -torch.inf
    other = other.masked_fill(~kept, -torch.inf)
    if what.top is not None and what.top < v.size:
        kept &= _most_likely(other, what.top, v)
        if what.rescaled:
            own, other = (x.masked_fill(~kept, -torch.inf) for x in (own, other))
    log_p, log_q = _log_softmax(own, other, v)
    p, q = log_p.exp(), log_q.exp()
    value, slope = terms(log_p.masked_fill(~kept, 0.0), log_q.masked_fill(~kept, 0.0), p, q, what)
    slope = slope.masked_fill_(~kept, 0.0)
    sums = total_of([value.masked_fill_(~kept, 0.0).sum(1), slope.sum(1)], v)
    return _Parts(sums[0], sums[1], slope, p)


def _log_softmax(own: Tensor, other: Tensor, v: Vocabulary) -> list[Tensor]:
    """Both, over the vocabulary of all ranks."""
    tops = largest([own, other], v).unsqueeze(2)
    shifted = [own - tops[0], other - tops[1]]
    norms = total_of([x.exp().sum(1) for x in shifted], v).log().unsqueeze(2)
    return [x - norm for x, norm in zip(shifted, norms, strict=True)]


def _most_likely(logits: Tensor, number: int, v: Vocabulary) -> Tensor:
    """Bool [n, V/tp]: which of this rank's tokens are among so many largest of all ranks'."""
    width = logits.shape[1]
    best = logits.topk(min(number, width), dim=1)
    values, each = [best.values], best.values.shape[1]
    if v.ranks > 1:
        values = [torch.empty_like(best.values) for _ in range(v.ranks)]
        dist.all_gather(values, best.values.contiguous(), group=v.group)
    place = torch.cat(values, 1).topk(number, dim=1).indices - v.first // v.own * each
    mine = (place >= 0) & (place < each)
    column = best.indices.gather(1, torch.where(mine, place, 0))
    wider = torch.zeros(len(logits), width + 1, dtype=torch.bool, device=logits.device)
    return wider.scatter_(1, torch.where(mine, column, width), True)[:, :width]


class _TokenDivergence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, other_hidden, other_head, targets, candidates, spec):
        ctx.save_for_backward(hidden, head, other_hidden, other_head, targets, candidates)
        ctx.spec, ctx.parts = spec, [slice(a, a + spec.rows) for a in range(0, len(targets), spec.rows)]
        given = hidden, head, other_hidden, other_head, targets, candidates
        found = [_of(given, part, spec).value for part in ctx.parts]
        return torch.cat([hidden.new_zeros(0, dtype=torch.float32), *found])

    @staticmethod
    def backward(ctx, upstream):
        hidden, head, *_ = ctx.saved_tensors
        spec, grad_hidden, grad_head = ctx.spec, torch.empty_like(hidden), torch.zeros_like(head, dtype=torch.float32)
        scale = spec.what.temperature * spec.options.temperature
        for part in ctx.parts:
            _, slopes, slope, p = _of(ctx.saved_tensors, part, spec)
            grad = slope.sub_(p * slopes.unsqueeze(1)).mul_(upstream[part].unsqueeze(1) / scale)
            grad = grad.to(grad.dtype if spec.wide else hidden.dtype)
            grad_hidden[part] = (grad @ head.to(grad.dtype)).to(hidden.dtype)
            grad_head += grad.t() @ hidden[part].to(grad.dtype)
        if spec.reduced and spec.vocabulary.ranks > 1 and ctx.parts:
            dist.all_reduce(grad_hidden, group=spec.vocabulary.group)
        return grad_hidden, grad_head.to(head.dtype), None, None, None, None, None


def _of(given: Sequence[Tensor | None], part: slice, spec: _Spec) -> _Parts:
    """The parts of some rows."""
    hidden, head, other_hidden, other_head, targets, candidates = given
    return _parts(hidden[part], head, other_hidden[part], other_head, targets[part], rows_of(candidates, part), spec)
