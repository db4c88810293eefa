"""Log-prob, entropy and exact KL per action token, without tokens × vocabulary in one piece.

Logits exist for a few rows at a time and are computed again in the backward pass; what is kept between the
passes is one number per token and quantity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ...runtime.trajectory import SamplingOptions
from .distribution import scaled, truncates

CHUNK_LOGITS = 2**22
"""Logits alive at a time: 16 MiB in float32."""


class Statistics(NamedTuple):
    """Float32 [N] each; None where not asked for."""

    logp: Tensor
    entropy: Tensor | None
    kl: Tensor | None


@dataclass(frozen=True)
class _Spec:
    options: SamplingOptions
    entropy: bool
    kl: bool
    rows: int


def token_statistics(hidden: Tensor, head: Tensor, targets: Tensor, options: SamplingOptions, *,
                     entropy: bool = False, reference: tuple[Tensor, Tensor] | None = None) -> Statistics:
    """Statistics of softmax(hidden · headᵀ / T) at `targets`.

    hidden [N, D], head [V, D], targets int64 [N]; `reference` is another policy's (hidden, head), constant.
    With top_k or top_p the distribution is the truncated one, renormalised; the target always counts as kept,
    and the KL is taken over this policy's kept tokens with the reference renormalised to them.
    Gradients reach hidden and head.
    """
    ref_hidden, ref_head = reference or (None, None)
    rows = max(16, CHUNK_LOGITS // head.shape[0])
    spec = _Spec(options, entropy, reference is not None, rows)
    return Statistics(*_TokenStatistics.apply(hidden, head, targets, ref_hidden, ref_head, spec))


class _Chunk(NamedTuple):
    """Normalised log-probs [n, V] of one chunk, and the reference's."""

    logp: Tensor
    ref: Tensor | None
    kept: Tensor | None


def _chunk(hidden: Tensor, head: Tensor, targets: Tensor, ref_hidden: Tensor | None, ref_head: Tensor | None,
           options: SamplingOptions) -> _Chunk:
    logits = scaled(hidden @ head.t(), options)
    kept = None
    if truncates(options):
        plain = (hidden @ head.t()).float().gather(1, targets.unsqueeze(1)) / options.temperature
        logits = logits.scatter(1, targets.unsqueeze(1), plain)
        kept = logits > -torch.inf
    ref = None
    if ref_hidden is not None:
        ref = (ref_hidden @ ref_head.t()).float() / options.temperature
        ref = (ref if kept is None else ref.masked_fill(~kept, -torch.inf)).log_softmax(-1)
    return _Chunk(logits.log_softmax(-1), ref, kept)


def _finite(x: Tensor, kept: Tensor | None) -> Tensor:
    return x if kept is None else x.masked_fill(~kept, 0.0)


class _TokenStatistics(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, targets, ref_hidden, ref_head, spec):
        logp = hidden.new_empty(len(targets), dtype=torch.float32)
        entropy = torch.empty_like(logp) if spec.entropy else None
        kl = torch.empty_like(logp) if spec.kl else None
        for part in _parts(len(targets), spec.rows):
            refs = None if ref_hidden is None else ref_hidden[part]
            chunk = _chunk(hidden[part], head, targets[part], refs, ref_head, spec.options)
            logp[part] = chunk.logp.gather(1, targets[part].unsqueeze(1)).squeeze(1)
            if spec.entropy or spec.kl:
                p, finite = chunk.logp.exp(), _finite(chunk.logp, chunk.kept)
                if spec.entropy:
                    entropy[part] = -(p * finite).sum(1)
                if spec.kl:
                    kl[part] = (p * (finite - _finite(chunk.ref, chunk.kept))).sum(1)
        ctx.save_for_backward(hidden, head, targets, ref_hidden, ref_head, entropy, kl)
        ctx.spec = spec
        ctx.set_materialize_grads(False)
        return logp, entropy, kl

    @staticmethod
    def backward(ctx, grad_logp, grad_entropy, grad_kl):
        hidden, head, targets, ref_hidden, ref_head, entropy, kl = ctx.saved_tensors
        grad_hidden = torch.empty_like(hidden)
        grad_head = torch.zeros_like(head, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        for part in _parts(len(targets), ctx.spec.rows):
            refs = None if ref_hidden is None else ref_hidden[part]
            chunk = _chunk(hidden[part], head, targets[part], refs, ref_head, ctx.spec.options)
            slope = 0.0 if grad_logp is None else -grad_logp[part].unsqueeze(1)
            if grad_entropy is not None:
                finite = _finite(chunk.logp, chunk.kept)
                slope = slope - grad_entropy[part].unsqueeze(1) * (finite + entropy[part].unsqueeze(1))
            if grad_kl is not None:
                gap = _finite(chunk.logp, chunk.kept) - _finite(chunk.ref, chunk.kept)
                slope = slope + grad_kl[part].unsqueeze(1) * (gap - kl[part].unsqueeze(1))
            grad = chunk.logp.exp() * slope
            if grad_logp is not None:
                grad.scatter_add_(1, targets[part].unsqueeze(1), grad_logp[part].unsqueeze(1))
            grad = grad.div_(ctx.spec.options.temperature).to(hidden.dtype)
            grad_hidden[part] = grad @ head
            if grad_head is not None:
                grad_head += grad.t() @ hidden[part]
        return grad_hidden, None if grad_head is None else grad_head.to(head.dtype), None, None, None, None


def _parts(total: int, rows: int) -> list[slice]:
    return [slice(start, min(start + rows, total)) for start in range(0, total, rows)]
