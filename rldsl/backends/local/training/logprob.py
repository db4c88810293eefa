"""Log-prob, entropy, exact KL and Σπ² per action token, without tokens × vocabulary in one piece.

Logits exist for a few rows at a time and are computed again in the backward pass; what is kept between the
passes is one number per token and quantity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rldsl.backends.local.distribution import scaled, truncates
from rldsl.runtime.trajectory import SamplingOptions

CHUNK_LOGITS = 2**23
"""Logits alive at a time: 32 MiB in float32."""


class Statistics(NamedTuple):
    """Float32 [N] each; None where not asked for."""

    logp: Tensor
    entropy: Tensor | None
    kl: Tensor | None
    squares: Tensor | None = None


@dataclass(frozen=True)
class _Spec:
    options: SamplingOptions
    entropy: bool
    kl: bool
    squares: bool
    rows: int


def token_statistics(hidden: Tensor, head: Tensor, targets: Tensor, options: SamplingOptions, *,
                     candidates: Tensor | None = None, entropy: bool = False,
                     reference: tuple[Tensor, Tensor] | None = None, squares: bool = False) -> Statistics:
    """Statistics of softmax(hidden · headᵀ / T) at `targets`.

    hidden [N, D], head [V, D], targets int64 [N]; `reference` is another policy's (hidden, head), constant.
    With top_k or top_p the distribution is the truncated one, renormalised; the target always counts as kept,
    and the KL is taken over this policy's kept tokens with the reference renormalised to them. `candidates`, int64
    [N, most], are the tokens to keep instead.
    Gradients reach hidden and head.
    """
    ref_hidden, ref_head = reference or (None, None)
    rows = max(16, CHUNK_LOGITS // head.shape[0])
    spec = _Spec(options, entropy, reference is not None, squares, rows)
    return Statistics(*_TokenStatistics.apply(hidden, head, targets, candidates, ref_hidden, ref_head, spec))


def policy_logits(hidden: Tensor, head: Tensor, targets: Tensor, candidates: Tensor | None,
                  options: SamplingOptions) -> Tensor:
    """Float32 logits [n, V] of the distribution; -inf where truncated, but never at the target."""
    raw = hidden @ head.t()
    if candidates is not None:
        every = raw.float() / options.temperature
        return torch.full_like(every, -torch.inf).scatter(1, candidates, every.gather(1, candidates))
    logits = scaled(raw, options)
    if truncates(options):
        at = targets.unsqueeze(1)
        logits = logits.scatter(1, at, raw.gather(1, at).float() / options.temperature)
    return logits


def _reference_logps(hidden: Tensor, head: Tensor, kept: Tensor | None, options: SamplingOptions) -> Tensor:
    logits = (hidden @ head.t()).float() / options.temperature
    return _masked(logits, kept, -torch.inf).log_softmax(-1)


def _masked(x: Tensor, kept: Tensor | None, value: float) -> Tensor:
    return x if kept is None else x.masked_fill(~kept, value)


def _kept(logits: Tensor, candidates: Tensor | None, options: SamplingOptions) -> Tensor | None:
    return logits > -torch.inf if candidates is not None or truncates(options) else None


def rows_of(candidates: Tensor | None, part: slice | Tensor) -> Tensor | None:
    """The candidates of some rows, where there are any."""
    return None if candidates is None else candidates[part]


def _gap(logps: Tensor, kept: Tensor | None, ref_hidden: Tensor, ref_head: Tensor, spec: _Spec) -> Tensor:
    """log π − log π_ref over the vocabulary, 0 where truncated; `logps` is finite."""
    ref = _reference_logps(ref_hidden, ref_head, kept, spec.options)
    return logps - _masked(ref, kept, 0.0)


class _TokenStatistics(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, targets, candidates, ref_hidden, ref_head, spec):
        logp = hidden.new_empty(len(targets), dtype=torch.float32)
        norm = torch.empty_like(logp)
        entropy = torch.empty_like(logp) if spec.entropy else None
        kl = torch.empty_like(logp) if spec.kl else None
        squares = torch.empty_like(logp) if spec.squares else None
        for part in row_parts(len(targets), spec.rows):
            at = targets[part].unsqueeze(1)
            logits = policy_logits(hidden[part], head, targets[part], rows_of(candidates, part), spec.options)
            logps, kept = logits.log_softmax(-1), _kept(logits, candidates, spec.options)
            logp[part] = logps.gather(1, at).squeeze(1)
            norm[part] = logits.gather(1, at).squeeze(1) - logp[part]
            if spec.entropy or spec.kl or spec.squares:
                p, logps = logps.exp(), _masked(logps, kept, 0.0)
                if spec.entropy:
                    entropy[part] = -(p * logps).sum(1)
                if spec.kl:
                    kl[part] = (p * _gap(logps, kept, ref_hidden[part], ref_head, spec)).sum(1)
                if spec.squares:
                    squares[part] = (p * p).sum(1)
        ctx.save_for_backward(hidden, head, targets, candidates, ref_hidden, ref_head, norm, entropy, kl, squares)
        ctx.spec = spec
        ctx.set_materialize_grads(False)
        return logp, entropy, kl, squares

    @staticmethod
    def backward(ctx, *grads):
        hidden, head, *_ = ctx.saved_tensors
        grad_hidden, grad_head = torch.empty_like(hidden), None
        parts = row_parts(len(hidden), ctx.spec.rows)
        if ctx.needs_input_grad[1]:
            grad_head = torch.zeros_like(head, dtype=torch.float32)
        for part in parts:
            grad = _logits_gradient(ctx, part, *grads).to(hidden.dtype)
            grad_hidden[part] = grad @ head
            if grad_head is not None:
                accumulate(grad_head, grad, hidden[part])
        return grad_hidden, None if grad_head is None else grad_head.to(head.dtype), None, None, None, None, None


def _logits_gradient(ctx, part: slice, grad_logp: Tensor | None, grad_entropy: Tensor | None,
                     grad_kl: Tensor | None, grad_squares: Tensor | None) -> Tensor:
    """d loss / d (hidden · headᵀ) of the rows in `part`, float32 [n, V].

    With p the distribution: ∂ℓ = 1[target] − p, ∂H = −p (log p + H), ∂KL = p (log p − log q − KL), ∂Σp² = 2p (p − Σp²),
    all over T.
    """
    hidden, head, targets, candidates, ref_hidden, ref_head, norm, entropy, kl, squares = ctx.saved_tensors
    options, targets = ctx.spec.options, targets[part]
    logps = policy_logits(hidden[part], head, targets, rows_of(candidates, part), options)
    logps = logps.sub_(norm[part].unsqueeze(1))
    slope = 0.0 if grad_logp is None else -grad_logp[part].unsqueeze(1)
    if grad_entropy is None and grad_kl is None and grad_squares is None:
        grad = logps.exp_().mul_(slope)
    else:
        kept, p = _kept(logps, candidates, options), logps.exp()
        logps = _masked(logps, kept, 0.0)
        if grad_entropy is not None:
            slope = slope - grad_entropy[part].unsqueeze(1) * (logps + entropy[part].unsqueeze(1))
        if grad_kl is not None:
            gap = _gap(logps, kept, ref_hidden[part], ref_head, ctx.spec)
            slope = slope + grad_kl[part].unsqueeze(1) * (gap - kl[part].unsqueeze(1))
        if grad_squares is not None:
            slope = slope + 2 * grad_squares[part].unsqueeze(1) * (p - squares[part].unsqueeze(1))
        grad = p.mul_(slope)
    if grad_logp is not None:
        grad.scatter_add_(1, targets.unsqueeze(1), grad_logp[part].unsqueeze(1))
    return grad if options.temperature == 1 else grad.div_(options.temperature)


def accumulate(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add leftᵀ · right to float32 `total`; in one pass where the factors are float32 too."""
    if left.dtype == torch.float32:
        total.addmm_(left.t(), right)
    else:
        total.add_(left.t() @ right)


def row_parts(total: int, rows: int) -> list[slice]:
    return [slice(start, min(start + rows, total)) for start in range(0, total, rows)]
