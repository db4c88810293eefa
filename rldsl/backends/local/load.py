"""From a model spec in a recipe to a policy and its tokenizer."""

from __future__ import annotations

import torch

from ...diagnostics import Diagnostic, RecipeError
from .model import Policy
from .tokenizer import Tokenizer
from .toy import toy_policy


def load_policy(spec: str, dtype: str, seed: int) -> tuple[Policy, Tokenizer]:
    """A policy and its tokenizer."""
    compute = {"float32": torch.float32, "bfloat16": torch.bfloat16}[dtype]
    policy = toy_policy(spec, compute, seed)
    return policy, policy.tokenizer
