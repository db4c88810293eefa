"""Attention for training (prompts once per group, each response over its prompt and itself) and for decoding.

Legend: R responses, G prompts, T response width, P prompt width, L = P + T, H query heads, K key/value heads,
C head width. Query head h reads key head h // (H / K).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .architecture import Architecture
from .layout import Layout
from .model import Attend
from .ragged import gather_rows

LANES = 16
"""CPU softmax over the last axis is up to ten times faster where its length is a multiple of this."""
SCORES = 2**21
"""Above this many scores per layer they are not kept for the backward pass but computed in blocks."""


def grouped_attention(layout: Layout, architecture: Architecture) -> Attend:
    """The `attend` of a training forward over `layout`; gradients reach the prompt through every response."""
    cut = layout.prompts.size
    scores = len(layout.owner) * architecture.heads * layout.mask.shape[2] * layout.mask.shape[3]
    small = layout.ids.device.type == "cpu" and scores <= SCORES
    bias = _bias(layout.mask, architecture.heads // architecture.kv_heads) if small else None

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        prompt_k, prompt_v = layout.prompts.spread(k[:cut]), layout.prompts.spread(v[:cut])
        mixed = attention(layout.prompts.spread(q[:cut]), prompt_k, prompt_v, causal=True)
        prompt_out = layout.prompts.collect(mixed).flatten(1)
        if not layout.responses.size:
            return prompt_out
        prompt_k, prompt_v = _share(prompt_k, layout), _share(prompt_v, layout)
        q, k, v = (layout.responses.spread(x[cut:]) for x in (q, k, v))
        if bias is not None:
            mixed = _SmallAttention.apply(q, k, v, prompt_k, prompt_v, bias)
        else:
            keys, values = torch.cat((prompt_k, k), dim=1), torch.cat((prompt_v, v), dim=1)
            mixed = attention(q, keys, values, mask=layout.mask)
        return torch.cat((prompt_out, layout.responses.collect(mixed).flatten(1)))

    return attend


def attention(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """Softmax attention of [B, T, H, C] queries over [B, L, K, C] keys and values → [B, T, H, C]."""
    out = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask, is_causal=causal,
        enable_gqa=q.shape[2] != k.shape[2])
    return out.transpose(1, 2)


def decode_attention(q: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """One new query per row, [B, H, C], over [B, K, L, C] keys and values → [B, H · C].

    `bias` [B or 1, 1, 1, L] is added to the scores: 0, or -inf where a row may not look.
    """
    if q.device.type != "cpu":
        out = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values, attn_mask=bias, enable_gqa=True)
        return out.flatten(1)
    folded = (q * q.shape[-1] ** -0.5).view(*keys.shape[:2], -1, q.shape[-1])
    scores = torch.matmul(folded, keys.transpose(2, 3)).add_(bias)
    return torch.matmul(scores.softmax(dim=-1), values).flatten(1)


def _share(prompt: Tensor, layout: Layout) -> Tensor:
    """Each response's view or copy of its prompt's keys or values, [R, P, K, C]."""
    if layout.siblings is None:
        return gather_rows(prompt, layout.owner)
    return prompt.unsqueeze(1).expand(-1, layout.siblings, -1, -1, -1).flatten(0, 1)


def padded(length: int) -> int:
    """The next multiple of LANES."""
    return -(-length // LANES) * LANES


def _bias(mask: Tensor, repeats: int) -> Tensor:
    """[R or 1, 1, T · repeats, padded L] of 0 and -inf: the queries of one key head lie side by side."""
    bias = torch.full((*mask.shape[:3], padded(mask.shape[3])), -torch.inf, device=mask.device)
    bias[..., :mask.shape[3]].masked_fill_(mask, 0.0)
    return bias.repeat_interleave(repeats, dim=2)


class _SmallAttention(torch.autograd.Function):
    """Attention by batched products with all scores kept: for short responses several times faster on CPU."""

    @staticmethod
    def forward(ctx, q, k, v, prompt_k, prompt_v, bias):
        folded = _fold(q * q.shape[-1] ** -0.5, k.shape[2])
        keys, values = _joined(prompt_k, k, bias.shape[-1]), _joined(prompt_v, v, bias.shape[-1])
        scores = torch.bmm(folded, keys.flatten(0, 1).transpose(1, 2))
        scores.view(*keys.shape[:2], *scores.shape[1:]).add_(bias)
        p = scores.softmax(dim=-1)
        ctx.save_for_backward(folded, keys, values, p)
        ctx.prompt = prompt_k.shape[1]
        return _unfold(torch.bmm(p, values.flatten(0, 1)), q.shape)

    @staticmethod
    def backward(ctx, grad):
        folded, keys, values, p = ctx.saved_tensors
        flat = _fold(grad, keys.shape[1])
        grad_p = torch.bmm(flat, values.flatten(0, 1).transpose(1, 2))
        grad_scores = torch.ops.aten._softmax_backward_data(grad_p, p, -1, p.dtype)
        grad_q = torch.bmm(grad_scores, keys.flatten(0, 1)).mul_(grad.shape[-1] ** -0.5)
        grad_k = torch.bmm(grad_scores.transpose(1, 2), folded).view_as(keys).transpose(1, 2)
        grad_v = torch.bmm(p.transpose(1, 2), flat).view_as(values).transpose(1, 2)
        first, last = ctx.prompt, ctx.prompt + grad.shape[1]
        return (_unfold(grad_q, grad.shape), grad_k[:, first:last], grad_v[:, first:last], grad_k[:, :first],
                grad_v[:, :first], None)


def _fold(x: Tensor, kv_heads: int) -> Tensor:
    """[R, T, H, C] as [R · K, T · H/K, C]."""
    return x.unflatten(2, (kv_heads, -1)).transpose(1, 2).reshape(x.shape[0] * kv_heads, -1, x.shape[-1])


def _unfold(x: Tensor, shape: torch.Size) -> Tensor:
    """The inverse of `_fold` for queries of `shape`."""
    rows, width, heads, features = shape
    kv_heads = x.shape[0] // rows
    return x.view(rows, kv_heads, width, heads // kv_heads, features).transpose(1, 2).reshape(shape)


def _joined(prompt: Tensor, own: Tensor, length: int) -> Tensor:
    """[R, K, length, C]: the prompt's, the response's, then zeros."""
    rows, width, heads, features = own.shape
    joined = own.new_empty(rows, heads, length, features)
    first = prompt.shape[1]
    joined[:, :, :first] = prompt.transpose(1, 2)
    joined[:, :, first:first + width] = own.transpose(1, 2)
    joined[:, :, first + width:] = 0
    return joined
