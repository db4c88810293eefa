"""Training-time attention: prompts once per group, each response over its prompt and itself."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .layout import Layout
from .model import Attend
from .ragged import gather_rows


def grouped_attention(layout: Layout) -> Attend:
    """The `attend` of a training forward over `layout`; gradients reach the prompt through every response."""
    cut = layout.prompts.size

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        prompt_k, prompt_v = layout.prompts.spread(k[:cut]), layout.prompts.spread(v[:cut])
        mixed = attention(layout.prompts.spread(q[:cut]), prompt_k, prompt_v, causal=True)
        prompt_out = layout.prompts.collect(mixed).flatten(1)
        if not layout.responses.size:
            return prompt_out
        keys = torch.cat((_share(prompt_k, layout), layout.responses.spread(k[cut:])), dim=1)
        values = torch.cat((_share(prompt_v, layout), layout.responses.spread(v[cut:])), dim=1)
        mixed = attention(layout.responses.spread(q[cut:]), keys, values, mask=layout.mask)
        return torch.cat((prompt_out, layout.responses.collect(mixed).flatten(1)))

    return attend


def attention(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False) -> Tensor:
    """Softmax attention of [B, T, H, C] queries over [B, L, K, C] keys and values → [B, T, H, C]."""
    out = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask, is_causal=causal,
        enable_gqa=q.shape[2] != k.shape[2])
    return out.transpose(1, 2)


def _share(prompt: Tensor, layout: Layout) -> Tensor:
    """Each response's copy of its prompt's keys or values, [R, P, K, C]."""
    if layout.siblings is None:
        return gather_rows(prompt, layout.owner)
    return prompt.unsqueeze(1).expand(-1, layout.siblings, -1, -1, -1).flatten(0, 1)
