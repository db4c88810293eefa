"""The element-wise parts of a layer with hand-written gradients: fewer passes over memory, less kept for backward.

Legend: N tokens, D width, F hidden width of the MLP, H query heads, K key/value heads, C head width.
Without gradients the same forward runs directly.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def norm_linear(x: Tensor, norm: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """RMS norm of `x` [N, D] scaled by `norm` [D], times `weight` [out, D] transposed, plus `bias`."""
    if torch.is_grad_enabled():
        return _NormLinear.apply(x, norm, weight, bias, eps)
    return F.linear(_rms_norm(x, norm, eps)[0], weight, bias)


def swiglu_linear(x: Tensor, gate_up: Tensor, weight: Tensor) -> Tensor:
    """x [N, D] plus silu(gate) · up times `weight` [D, F] transposed; `gate_up` is [N, 2F]."""
    if torch.is_grad_enabled():
        return _SwigluLinear.apply(x, gate_up, weight)
    gate, up = gate_up.chunk(2, dim=-1)
    return torch.addmm(x, F.silu(gate).mul_(up), weight.t())


def rotated_heads(qkv: Tensor, factors: Tensor, heads: int, kv_heads: int, dtype: torch.dtype
                  ) -> tuple[Tensor, Tensor, Tensor]:
    """Queries [N, H, C], keys and values [N, K, C] of fused `qkv` [N, H + 2K, C], the first two rotated.

    Rotation is computed in float32 by complex `factors` [N, 1, C/2]; the result is in `dtype`.
    """
    sizes = (heads, kv_heads, kv_heads)
    if torch.is_grad_enabled():
        return _RotatedHeads.apply(qkv, factors, sizes, dtype)
    return _rotate(qkv.to(torch.float32, copy=True), factors, heads + kv_heads).to(dtype).split(sizes, dim=1)


def _rms_norm(x: Tensor, norm: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    wide = x.float()
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    scale = length.square_().mul_(1 / x.shape[-1]).add_(eps).rsqrt_()
    return (wide * scale).mul_(norm).to(x.dtype), scale


class _NormLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, norm, weight, bias, eps):
        normed, scale = _rms_norm(x, norm, eps)
        ctx.save_for_backward(x, norm, weight, normed, scale)
        ctx.biased = bias is not None
        return F.linear(normed, weight, bias)

    @staticmethod
    def backward(ctx, grad):
        x, norm, weight, normed, scale = ctx.saved_tensors
        grad_weight = grad.t() @ normed
        unit = x.float() * scale
        inner = (grad @ weight).float()
        product = inner * unit
        grad_norm = product.sum(0).to(norm.dtype)
        along = (product @ norm.float()).mul_(1 / x.shape[-1]).unsqueeze(-1)
        grad_x = inner.mul_(norm).sub_(unit.mul_(along)).mul_(scale).to(x.dtype)
        return grad_x, grad_norm, grad_weight, grad.sum(0) if ctx.biased else None, None


class _SwigluLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gate_up, weight):
        gate, up = gate_up.chunk(2, dim=-1)
        ctx.save_for_backward(gate_up, weight)
        return torch.addmm(x, F.silu(gate).mul_(up), weight.t())

    @staticmethod
    def backward(ctx, grad):
        gate_up, weight = ctx.saved_tensors
        gate, up = gate_up.chunk(2, dim=-1)
        active = F.silu(gate)
        inner = grad @ weight
        grad_gate_up = torch.empty_like(gate_up)
        grad_gate, grad_up = grad_gate_up.chunk(2, dim=-1)
        torch.mul(inner, active, out=grad_up)
        torch.ops.aten.silu_backward.grad_input(inner.mul_(up), gate, grad_input=grad_gate)
        return grad, grad_gate_up, grad.t() @ active.mul_(up)


def _rotate(wide: Tensor, factors: Tensor, turned: int) -> Tensor:
    """Turn the first `turned` heads of float32 `wide` in place."""
    torch.view_as_complex(wide[:, :turned].unflatten(-1, (-1, 2))).mul_(factors)
    return wide


class _RotatedHeads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, qkv, factors, sizes, dtype):
        ctx.save_for_backward(factors)
        ctx.turned, ctx.dtype = sizes[0] + sizes[1], qkv.dtype
        return _rotate(qkv.to(torch.float32, copy=True), factors, ctx.turned).to(dtype).split(sizes, dim=1)

    @staticmethod
    def backward(ctx, *grads):
        factors, = ctx.saved_tensors
        grad = torch.cat(grads, dim=1)
        return _rotate(grad.float(), factors.conj(), ctx.turned).to(ctx.dtype), None, None, None
