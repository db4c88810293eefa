"""Log-prob, entropy, exact KL and Σπ² per token from a vocabulary spread over ranks, whose logits are never gathered.

Each rank multiplies the states with its own rows of the vocabulary, a few tokens at a time, and computes them again in
the backward pass. Between ranks travel five numbers per token at most: a maximum, then sums; where sampling truncates
and recorded no candidates, those of `truncation` beside.
Source: the vocabulary-parallel cross entropy of Megatron-LM (arXiv:1909.08053, section 3), here with entropy and KL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from rldsl.backends.local.distribution import scaled, truncates
from rldsl.backends.local.training.logprob import CHUNK_LOGITS
from rldsl.runtime.trajectory import SamplingOptions

from .truncation import truncated


@dataclass(frozen=True)
class Vocabulary:
    """The tokens that this rank holds: `first` to `first + own`, of which only those below `size` exist."""

    group: Any
    ranks: int
    first: int
    own: int
    size: int


class Found(NamedTuple):
    """Float32 [N] each; None where not asked for."""

    logp: Tensor
    entropy: Tensor | None
    kl: Tensor | None
    squares: Tensor | None


@dataclass(frozen=True)
class Reading:
    """How states become logits, `rows` of them at a time; `wide` multiplies in float32. Without `reduced` a gradient of
    states is this rank's share only."""

    vocabulary: Vocabulary
    options: SamplingOptions
    wide: bool
    rows: int
    reduced: bool


@dataclass(frozen=True)
class _Spec(Reading):
    entropy: bool
    kl: bool
    squares: bool


def token_statistics(hidden: Tensor, head: Tensor, targets: Tensor, vocabulary: Vocabulary, options: SamplingOptions, *,
                     candidates: Tensor | None = None, wide: bool = False, entropy: bool = False,
                     reference: tuple[Tensor, Tensor] | None = None, squares: bool = False,
                     reduced: bool = True) -> Found:
    """Statistics of softmax(hidden · headᵀ / T) at `targets`, over the vocabulary of all ranks.

    hidden [N, D] is the same on every rank, head [V/tp, D] is this rank's, targets int64 [N]. `reference` is another
    policy's (hidden, head), constant. `candidates`, int64 [N, most], are the tokens that the distribution is over,
    where they are recorded; else what top_k and top_p leave, and the target. `wide` multiplies in float32.
    Without `reduced` the gradient of hidden is this rank's share only.
    """
    ref_hidden, ref_head = reference or (None, None)
    rows = max(16, CHUNK_LOGITS // head.shape[0])
    spec = _Spec(vocabulary, options, wide, rows, reduced, entropy, reference is not None, squares)
    return Found(*_Statistics.apply(hidden, head, targets, candidates, ref_hidden, ref_head, spec))


def product(hidden: Tensor, head: Tensor, spec: Reading) -> Tensor:
    """hidden · headᵀ over this rank's tokens."""
    return hidden.float() @ head.float().t() if spec.wide else hidden @ head.t()


def policy_logits(hidden: Tensor, head: Tensor, targets: Tensor, candidates: Tensor | None,
                  spec: Reading) -> Tensor:
    """Float32 logits [n, V/tp] over the temperature; -inf for padding and for what truncation removes."""
    v, raw = spec.vocabulary, product(hidden, head, spec)
    if v.first + v.own > v.size:
        raw[:, max(0, v.size - v.first):] = -torch.inf
    if candidates is not None:
        return (raw.float() / spec.options.temperature).masked_fill(~_listed(candidates, v), -torch.inf)
    if not truncates(spec.options):
        return scaled(raw, spec.options)
    every = raw.float() / spec.options.temperature
    logits = scaled(raw, spec.options) if v.ranks == 1 else truncated(every, spec.options, v)
    here, column = (x.unsqueeze(1) for x in _target(targets, v))
    return logits.scatter(1, column, torch.where(here, every.gather(1, column), logits.gather(1, column)))


def _listed(candidates: Tensor, v: Vocabulary) -> Tensor:
    """Bool [n, V/tp]: which of this rank's tokens are candidates."""
    column = candidates - v.first
    here = (column >= 0) & (column < v.own)
    wider = torch.zeros(len(candidates), v.own + 1, dtype=torch.bool, device=candidates.device)
    return wider.scatter_(1, torch.where(here, column, v.own), True)[:, :v.own]


def _reference(hidden: Tensor, head: Tensor, logits: Tensor, spec: _Spec) -> Tensor:
    """The reference's logits, over the tokens that the policy keeps."""
    raw = product(hidden, head, spec).float() / spec.options.temperature
    return raw.masked_fill(logits == -torch.inf, -torch.inf)


def largest(columns: Sequence[Tensor], v: Vocabulary) -> Tensor:
    """The largest number of each row of each [n, V/tp], over all ranks: [columns, n]."""
    found = torch.stack([c.amax(1) for c in columns])
    if v.ranks > 1:
        dist.all_reduce(found, op=dist.ReduceOp.MAX, group=v.group)
    return found


def total_of(columns: Sequence[Tensor], v: Vocabulary) -> Tensor:
    """The sums over all ranks of each [n]: [columns, n]."""
    found = torch.stack(list(columns))
    if v.ranks > 1:
        dist.all_reduce(found, group=v.group)
    return found


def _target(targets: Tensor, v: Vocabulary) -> tuple[Tensor, Tensor]:
    """(whether this rank holds each target, its column here or 0), [n] each."""
    column = targets - v.first
    here = (column >= 0) & (column < v.own)
    return here, torch.where(here, column, 0)


def _times(weight: Tensor, x: Tensor) -> Tensor:
    """weight · x, 0 where the weight is 0, whatever x is there."""
    return torch.where(weight == 0, 0.0, weight * x)


class _Statistics(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, targets, candidates, ref_hidden, ref_head, spec):
        parts = [slice(a, a + spec.rows) for a in range(0, len(targets), spec.rows)]
        columns = [_measured(hidden[p], head, targets[p], rows_of(candidates, p), rows_of(ref_hidden, p), ref_head,
                             spec) for p in parts]
        empty = hidden.new_zeros(0, dtype=torch.float32)
        found = [torch.cat(c) for c in zip(*columns, strict=True)] if columns else [empty] * 6
        logp, _, entropy, kl, _, squares = found
        ctx.save_for_backward(hidden, head, targets, candidates, ref_hidden, ref_head, *found[1:])
        ctx.spec, ctx.parts = spec, parts
        ctx.set_materialize_grads(False)
        return (logp, entropy if spec.entropy else None, kl if spec.kl else None,
                squares if spec.squares else None)

    @staticmethod
    def backward(ctx, *grads):
        hidden, head, *_ = ctx.saved_tensors
        grad_hidden = torch.empty_like(hidden)
        grad_head = torch.zeros_like(head, dtype=torch.float32)
        for part in ctx.parts:
            grad = _slopes(ctx, part, *(rows_of(g, part) for g in grads))
            kind = grad.dtype if ctx.spec.wide else hidden.dtype
            grad_hidden[part] = (grad.to(kind) @ head.to(kind)).to(hidden.dtype)
            grad_head += grad.to(kind).t() @ hidden[part].to(kind)
        v = ctx.spec.vocabulary
        if ctx.spec.reduced and v.ranks > 1:
            dist.all_reduce(grad_hidden, group=v.group)
        return grad_hidden, grad_head.to(head.dtype), None, None, None, None, None


def _scaled(p: Tensor, by: Tensor, in_place: bool) -> Tensor:
    """Each row times its factor."""
    return p.mul_(by.unsqueeze(1)) if in_place else p * by.unsqueeze(1)


def rows_of(column: Tensor | None, part: slice) -> Tensor | None:
    return None if column is None else column[part]


def _measured(hidden: Tensor, head: Tensor, targets: Tensor, candidates: Tensor | None, ref_hidden: Tensor | None,
              ref_head: Tensor | None, spec: _Spec) -> tuple[Tensor, ...]:
    """(log-prob, log-normaliser, entropy, KL, the reference's log-normaliser, Σπ²) of a few tokens."""
    v, zero = spec.vocabulary, hidden.new_zeros(len(targets), dtype=torch.float32)
    logits = policy_logits(hidden, head, targets, candidates, spec)
    others = [_reference(ref_hidden, ref_head, logits, spec)] if spec.kl else []
    tops = largest([logits, *others], v)
    here, column = _target(targets, v)
    at = torch.where(here, logits.gather(1, column.unsqueeze(1)).squeeze(1), 0.0)
    low = logits.sub_(tops[0].unsqueeze(1))
    weight = low.exp() if spec.entropy or spec.kl else low.exp_()
    sums = {"z": weight.sum(1), "at": at}
    if spec.squares:
        sums["squares"] = (weight * weight).sum(1)
    if spec.entropy:
        sums["entropy"] = _times(weight, low).sum(1)
    if spec.kl:
        other = others[0].sub_(tops[1].unsqueeze(1))
        sums |= {"ref_z": other.exp().sum(1), "gap": _times(weight, low - other).sum(1)}
    total = dict(zip(sums, total_of(list(sums.values()), v), strict=True))
    z, log_z = total["z"], total["z"].log()
    entropy = log_z - total["entropy"] / z if spec.entropy else zero
    kl = total["gap"] / z - log_z + total["ref_z"].log() if spec.kl else zero
    squares = total["squares"] / (z * z) if spec.squares else zero
    ref_norm = tops[1] + total["ref_z"].log() if spec.kl else zero
    return total["at"] - tops[0] - log_z, tops[0] + log_z, entropy, kl, ref_norm, squares


def _slopes(ctx: Any, part: slice, grad_logp: Tensor | None, grad_entropy: Tensor | None, grad_kl: Tensor | None,
            grad_squares: Tensor | None) -> Tensor:
    """d loss / d (hidden · headᵀ) of a few tokens, float32 [n, V/tp]; the gradients are theirs.

    With p the distribution: ∂ℓ = 1[target] − p, ∂H = −p (log p + H), ∂KL = p (log p − log q − KL), ∂Σp² = 2p (p − Σp²),
    all over T.
    """
    hidden, head, targets, candidates, ref_hidden, ref_head, *columns = ctx.saved_tensors
    norm, entropy, kl, ref_norm, squares = (c[part].unsqueeze(1) for c in columns)
    spec, targets = ctx.spec, targets[part]
    logits = policy_logits(hidden[part], head, targets, rows_of(candidates, part), spec)
    logps = logits.sub_(norm)
    alone = grad_entropy is None and grad_kl is None and grad_squares is None
    p = logps.exp_() if alone else logps.exp()
    slope = torch.zeros_like(p) if grad_logp is None else _scaled(p, -grad_logp, alone)
    if grad_entropy is not None:
        slope -= grad_entropy.unsqueeze(1) * _times(p, logps + entropy)
    if grad_kl is not None:
        other = _reference(ref_hidden[part], ref_head, logits, spec) - ref_norm
        slope += grad_kl.unsqueeze(1) * _times(p, logps - other - kl)
    if grad_squares is not None:
        slope += 2 * grad_squares.unsqueeze(1) * p * (p - squares)
    if grad_logp is not None:
        here, column = _target(targets, spec.vocabulary)
        slope.scatter_add_(1, column.unsqueeze(1), torch.where(here, grad_logp, 0.0).unsqueeze(1))
    return slope.div_(spec.options.temperature)
