"""Tiny models in folders, and processes to be ranks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.hf_folder import write_folder
from rldsl.backends.local.formats.toy import toy_architecture

from .processes import Processes


@pytest.fixture(scope="package")
def processes():
    torch.set_num_threads(1)
    found = Processes()
    yield found
    found.end()


def toy(kind: str, tied: bool, scale: float = 6.0, **sizes: int) -> Policy:
    """A policy whose weights are large enough for sharp distributions, with norms that are not all 1."""
    architecture = dataclasses.replace(toy_architecture(f"toy:{kind}-2x64"), tied=tied, vocabulary=97, **sizes)
    policy = Policy(architecture)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for p in policy.parameters():
            noise = torch.randn(p.shape, generator=generator)
            p.copy_(scale * 0.02 * noise if p.dim() == 2 else 1 + 0.2 * noise)
    return policy


@pytest.fixture(scope="session")
def folders(tmp_path_factory) -> dict[str, Path]:
    """{name: folder}: dense models of every kind, tied and not; `near`, another llama's weights; `one_key`, a model
    with one key/value head."""
    root = tmp_path_factory.mktemp("models")
    made = {f"{kind}{'' if tied else '_untied'}": toy(kind, tied)
            for kind in ("llama", "qwen2", "qwen3") for tied in (True, False)}
    made["near"], made["one_key"] = toy("llama", True, 6.3), toy("qwen3", False, kv_heads=1)
    for name, policy in made.items():
        write_folder(policy, root / name)
    return {name: root / name for name in made}


@pytest.fixture(scope="session")
def moe(tmp_path_factory) -> Path:
    """A mixture of four experts, two for each token, as transformers writes it."""
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    torch.manual_seed(3)
    model = Qwen3MoeForCausalLM(Qwen3MoeConfig(
        vocab_size=97, hidden_size=64, intermediate_size=96, moe_intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_experts=4, num_experts_per_tok=2,
        decoder_sparse_step=1, norm_topk_prob=True, max_position_embeddings=256, initializer_range=0.12,
        tie_word_embeddings=False))
    folder = tmp_path_factory.mktemp("moe")
    model.save_pretrained(folder)
    return folder
