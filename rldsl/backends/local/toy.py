"""Built-in toy models: `toy:llama-2x64` is a Llama of 2 layers and width 64 with random weights."""

from __future__ import annotations

import re

import torch

from ...diagnostics import Diagnostic, RecipeError
from .architecture import KINDS, Architecture
from .draws import uniforms
from .model import Policy
from .tokenizer import CharacterTokenizer

TOY = "toy:"
CONTEXT = 512
INITIAL_STD = 0.02


def toy_architecture(spec: str) -> Architecture:
    """Sizes of `toy:KIND-LAYERSxWIDTH`. RecipeError RL407 names what a spec may look like."""
    match = re.fullmatch(rf"{TOY}({'|'.join(KINDS)})-(\d+)x(\d+)", spec)
    layers, width = (int(match[2]), int(match[3])) if match else (0, 0)
    if not match or not 1 <= layers <= 64 or width % 16 or not 16 <= width <= 4096:
        raise RecipeError([Diagnostic(
            "RL407", f"There is no toy model {spec!r}.",
            fix=f"Write toy:KIND-LAYERSxWIDTH with KIND {', '.join(KINDS)}, 1 to 64 layers and a width that is a "
                "multiple of 16 up to 4096, such as toy:llama-2x64.")])
    head_width = 16 if width < 128 else 32 if width < 512 else 64
    if width % head_width:
        head_width = 16
    heads = width // head_width
    return Architecture(
        kind=match[1], vocabulary=CharacterTokenizer().size, width=width, mlp=4 * width, layers=layers,
        heads=heads, kv_heads=heads // 2 if heads % 2 == 0 else heads, head_width=head_width, context=CONTEXT,
        qkv_bias=match[1] == "qwen2", qk_norm=match[1] == "qwen3", tied=True)


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
