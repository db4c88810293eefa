"""Built-in toy models: `toy:llama-2x64` is a Llama of 2 layers and width 64 with random weights."""

from __future__ import annotations

import torch

from rldsl.backends.local.decoder.architecture import Architecture
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.draws import uniforms
from rldsl.compiler.toy_models import CONTEXT, toy_sizes

from .tokenizer import CharacterTokenizer

INITIAL_STD = 0.02


def toy_architecture(spec: str) -> Architecture:
    """The decoder that a toy model's name stands for. RecipeError RL201 where it is no such name."""
    t = toy_sizes(spec)
    return Architecture(
        kind=t.kind, vocabulary=CharacterTokenizer().size, width=t.width, mlp=4 * t.width, layers=t.layers,
        heads=t.heads, kv_heads=t.kv_heads, head_width=t.head_width, context=CONTEXT,
        qkv_bias=t.kind == "qwen2", qk_norm=t.kind == "qwen3", tied=True)


def toy_policy(spec: str, compute: torch.dtype, seed: int) -> Policy:
    """A randomly initialised toy model; the same seed gives the same weights anywhere."""
    tokenizer = CharacterTokenizer()
    policy = Policy(toy_architecture(spec), compute, tokenizer)
    policy.requires_grad_(False)
    for index, (_, parameter) in enumerate(policy.named_parameters()):
        if parameter.dim() == 2:
            parameter.copy_(_normal(parameter.numel(), seed, index).view_as(parameter) * INITIAL_STD)
    return policy.requires_grad_(True)


def _normal(count: int, seed: int, index: int) -> torch.Tensor:
    """Standard normals by inverse transform of counter-based uniforms."""
    row = torch.zeros(1, dtype=torch.int64)
    u = uniforms(seed, index, row, row, torch.zeros_like(row), range(count))[0]
    return torch.special.ndtri(u).float()
