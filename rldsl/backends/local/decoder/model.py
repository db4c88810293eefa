"""A Llama-family decoder (Llama, Qwen2, Qwen3) whose layers serve both sampling and training.

Legend: N tokens, D width, H query heads, K key/value heads, C head width, F hidden width of the MLP, V vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .architecture import Architecture
from .fused import norm_linear, rotated_heads, swiglu_linear
from .numerics import Numerics
from .rotary import frequencies

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, queries [N,H,C], keys [N,K,C], values [N,K,C]) → mixed values [N, H·C]."""


class LayerWeights(NamedTuple):
    """One layer's tensors in the dtype of the computation; fused projections are [out, in]."""

    norm_in: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    norm_q: Tensor | None
    norm_k: Tensor | None
    out: Tensor
    norm_mlp: Tensor
    gate_up: Tensor
    down: Tensor


class Weights(NamedTuple):
    """All tensors of one forward; `head` is `embed` where the two are tied."""

    embed: Tensor
    layers: tuple[LayerWeights, ...]
    norm: Tensor
    head: Tensor


ADAPTED = ("qkv", "out", "gate_up", "down")
"""The matrices of a layer that a low-rank addition can be trained for."""


class Layer(nn.Module):
    """Master weights of one layer, float32."""

    def __init__(self, a: Architecture):
        super().__init__()
        self.norm_in = nn.Parameter(torch.ones(a.width))
        self.qkv = nn.Parameter(torch.empty(a.qkv_heads * a.head_width, a.width))
        self.qkv_bias = nn.Parameter(torch.zeros(a.qkv_heads * a.head_width)) if a.qkv_bias else None
        self.norm_q = nn.Parameter(torch.ones(a.head_width)) if a.qk_norm else None
        self.norm_k = nn.Parameter(torch.ones(a.head_width)) if a.qk_norm else None
        self.out = nn.Parameter(torch.empty(a.width, a.heads * a.head_width))
        self.norm_mlp = nn.Parameter(torch.ones(a.width))
        self.gate_up = nn.Parameter(torch.empty(2 * a.mlp, a.width))
        self.down = nn.Parameter(torch.empty(a.width, a.mlp))
        self.adapters = nn.ParameterDict()
        self.scale = 0.0

    def adapt(self, rank: int, alpha: float) -> None:
        """Adds alpha/rank · B·A to each matrix, A [rank, in] drawn by the caller's generator, B [out, rank] zero."""
        self.scale = alpha / rank
        for name in ADAPTED:
            out, width = getattr(self, name).shape
            self.adapters[f"{name}_a"] = nn.Parameter(torch.empty(rank, width))
            self.adapters[f"{name}_b"] = nn.Parameter(torch.zeros(out, rank))

    def master(self, name: str) -> Tensor | None:
        """A tensor in float32, its low-rank addition included."""
        own = getattr(self, name)
        if f"{name}_a" not in self.adapters:
            return own
        return torch.addmm(own, self.adapters[f"{name}_b"], self.adapters[f"{name}_a"], alpha=self.scale)

    def cast(self, dtype: torch.dtype, how: Numerics) -> LayerWeights:
        """The tensors in `dtype`, linked to the masters for gradients; projections rounded as `how` says."""
        each = {name: self.master(name) for name in LayerWeights._fields}
        return LayerWeights(**{name: None if p is None else (how.rounded(p) if p.dim() == 2 else p).to(dtype)
                               for name, p in each.items()})


class Trunk(nn.Module):
    """Embedding, layers and final norm, held as float32 masters and computed in `compute`."""

    def __init__(self, architecture: Architecture, compute: torch.dtype = torch.float32):
        super().__init__()
        a = self.architecture = architecture
        self.compute = compute
        self.numerics = Numerics()
        self.embed = nn.Parameter(torch.empty(a.vocabulary, a.width))
        self.layers = nn.ModuleList(Layer(a) for _ in range(a.layers))
        self.norm = nn.Parameter(torch.ones(a.width))
        self.register_buffer("inverse", frequencies(a), persistent=False)

    @property
    def device(self) -> torch.device:
        return self.embed.device

    def weights(self) -> Weights:
        """Every tensor cast once to the dtype of the computation."""
        embed = self.embed.to(self.compute)
        layers = tuple(layer.cast(self.compute, self.numerics) for layer in self.layers)
        return Weights(embed, layers, self.norm.to(self.compute), embed)


class Policy(Trunk):
    """A trunk with its language-model head and the tokenizer its ids belong to."""

    def __init__(self, architecture: Architecture, compute: torch.dtype = torch.float32, tokenizer=None):
        super().__init__(architecture, compute)
        a = architecture
        self.head = None if a.tied else nn.Parameter(torch.empty(a.vocabulary, a.width))
        self.tokenizer = tokenizer

    def weights(self) -> Weights:
        weights, head = super().weights(), self.embed if self.head is None else self.head
        wide = self.numerics.head or self.compute
        return weights if self.head is None and wide == self.compute else weights._replace(head=head.to(wide))


def hidden_states(a: Architecture, weights: Weights, ids: Tensor, factors: Tensor, attend: Attend) -> Tensor:
    """Final normed states [N, D], in the head's dtype, of flat token `ids` [N] with rotary `factors` [N, 1, C/2]."""
    x = F.embedding(ids, weights.embed)
    for index, layer in enumerate(weights.layers):
        x = _block(a, layer, x, factors, index, attend)
    return F.rms_norm(x, (a.width,), weights.norm, a.norm_eps).to(weights.head.dtype)


def _block(a: Architecture, w: LayerWeights, x: Tensor, factors: Tensor, index: int, attend: Attend) -> Tensor:
    qkv = norm_linear(x, w.norm_in, w.qkv, w.qkv_bias, a.norm_eps).view(-1, a.qkv_heads, a.head_width)
    if w.norm_q is not None:
        q, k, v = qkv.split((a.heads, a.kv_heads, a.kv_heads), dim=1)
        qkv = torch.cat((F.rms_norm(q, (a.head_width,), w.norm_q, a.norm_eps),
                         F.rms_norm(k, (a.head_width,), w.norm_k, a.norm_eps), v), dim=1)
    q, k, v = rotated_heads(qkv, factors, a.heads, a.kv_heads, attention_dtype(x.device, x.dtype))
    x = torch.addmm(x, attend(index, q, k, v).to(x.dtype), w.out.t())
    return swiglu_linear(x, norm_linear(x, w.norm_mlp, w.gate_up, None, a.norm_eps), w.down)


def attention_dtype(device: torch.device, compute: torch.dtype) -> torch.dtype:
    """Of queries, keys and values: CPU attention is two to four times faster in float32 than in bfloat16."""
    return torch.float32 if device.type == "cpu" else compute


def fingerprint(model: nn.Module) -> str:
    """16 hex digits from the sums of all bits of every weight tensor: a changed weight changes them."""
    digest = hashlib.sha256()
    for name, p in model.named_parameters():
        digest.update(f"{name}:{int(p.detach().view(torch.int32).sum(dtype=torch.int64))};".encode())
    return digest.hexdigest()[:16]
