"""Divergences between the policy and a teacher per action token, without tokens × vocabulary in one piece.

Both distributions exist for a few rows at a time and are computed again in the backward pass; what is kept between the
passes is the hidden states that there are anyway. `rldsl.algebra.divergence` is the definition in plain Python.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from rldsl.algebra.divergence import FORWARD_KL, REVERSE_KL, Divergence
from rldsl.runtime.trajectory import SamplingOptions

from . import logprob


class Sides(NamedTuple):
    """The policy's and the teacher's last hidden states [N, D] and output heads [V, D]; widths may differ."""

    hidden: Tensor
    head: Tensor
    other_hidden: Tensor
    other_head: Tensor


class _Spec(NamedTuple):
    options: SamplingOptions
    what: Divergence
    rows: int


def token_divergence(sides: Sides, targets: Tensor, options: SamplingOptions, what: Divergence,
                     candidates: Tensor | None = None) -> Tensor:
    """The divergence at each row, float32 [N]; gradients reach the policy's hidden states and head.

    targets int64 [N] are the sampled tokens. Where `options` truncates, the distributions are those over what the
    policy could sample, `candidates` [N, most] where these are recorded; sampling's temperature applies to both.
    """
    rows = max(16, logprob.CHUNK_LOGITS // (2 * sides.head.shape[0]))
    return _TokenDivergence.apply(*sides, targets, candidates, _Spec(options, what, rows))


class _Parts(NamedTuple):
    """What one token adds to the divergence and p · ∂/∂p of it, over the kept tokens, 0 elsewhere; and p."""

    value: Tensor
    slope: Tensor
    p: Tensor


def _parts(hidden: Tensor, head: Tensor, other_hidden: Tensor, other_head: Tensor, targets: Tensor,
           candidates: Tensor | None, spec: _Spec) -> _Parts:
    own = logprob.policy_logits(hidden, head, targets, candidates, spec.options) / spec.what.temperature
    teacher = (other_hidden @ other_head.t()).float() / (spec.options.temperature * spec.what.temperature)
    out = own == -torch.inf
    kept = ~out
    teacher = teacher.masked_fill(out, -torch.inf)
    if spec.what.top is not None and spec.what.top < teacher.shape[1]:
        best = teacher.topk(spec.what.top, dim=1).indices
        kept = torch.zeros_like(kept).scatter_(1, best, True) & kept
        if spec.what.rescaled:
            own, teacher = own.masked_fill(~kept, -torch.inf), teacher.masked_fill(~kept, -torch.inf)
    log_p, log_q = own.log_softmax(1), teacher.log_softmax(1)
    p, q = log_p.exp(), log_q.exp()
    value, slope = terms(log_p.masked_fill(~kept, 0.0), log_q.masked_fill(~kept, 0.0), p, q, spec.what)
    return _Parts(value.masked_fill_(~kept, 0.0), slope.masked_fill_(~kept, 0.0), p)


def terms(log_p: Tensor, log_q: Tensor, p: Tensor, q: Tensor, what: Divergence) -> tuple[Tensor, Tensor]:
    """(f, p · ∂f/∂p) of each token of the vocabulary, whose sum over them f is the divergence."""
    if what.kind == REVERSE_KL:
        gap = log_p - log_q
        return p * gap, p * (gap + 1)
    if what.kind == FORWARD_KL:
        return q * (log_q - log_p), -q
    log_m = torch.logaddexp(log_q + math.log(what.beta), log_p + math.log(1 - what.beta))
    own = (1 - what.beta) * p * (log_p - log_m)
    return what.beta * q * (log_q - log_m) + own, own


class _TokenDivergence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, head, other_hidden, other_head, targets, candidates, spec):
        found = hidden.new_empty(len(targets), dtype=torch.float32)
        for part in logprob.row_parts(len(targets), spec.rows):
            found[part] = _parts(hidden[part], head, other_hidden[part], other_head, targets[part],
                                 logprob.rows_of(candidates, part), spec).value.sum(1)
        ctx.save_for_backward(hidden, head, other_hidden, other_head, targets, candidates)
        ctx.spec = spec
        return found

    @staticmethod
    def backward(ctx, upstream):
        hidden, head, other_hidden, other_head, targets, candidates = ctx.saved_tensors
        grad_hidden = torch.empty_like(hidden)
        grad_head = torch.zeros_like(head, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        scale = ctx.spec.what.temperature * ctx.spec.options.temperature
        for part in logprob.row_parts(len(targets), ctx.spec.rows):
            _, slope, p = _parts(hidden[part], head, other_hidden[part], other_head, targets[part],
                                 logprob.rows_of(candidates, part), ctx.spec)
            grad = slope.sub_(p * slope.sum(1, keepdim=True)).mul_(upstream[part].unsqueeze(1) / scale)
            grad = grad.to(hidden.dtype)
            grad_hidden[part] = grad @ head
            if grad_head is not None:
                logprob.accumulate(grad_head, grad, hidden[part])
        return grad_hidden, None if grad_head is None else grad_head.to(head.dtype), None, None, None, None, None
