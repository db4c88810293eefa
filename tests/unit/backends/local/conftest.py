"""Tiny policies and rows shared by the tests of the local backend."""

from __future__ import annotations

import pytest
import torch

from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.load import load_policy
from rldsl.runtime.trajectory import Trajectory


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def policy():
    """A float32 toy model whose weights are large enough for sharp distributions."""
    policy, _ = load_policy("toy:llama-2x32", "float32", seed=3, device="cpu")
    with torch.no_grad():
        for parameter in policy.parameters():
            if parameter.dim() == 2:
                parameter.mul_(8)
    return policy


def row(group: int, sibling: int, prompt: str | tuple, tokens: tuple[int, ...]) -> Trajectory:
    """A recorded row; a prompt given as text is one small id per character."""
    ids = tuple(ord(c) % 90 for c in prompt) if isinstance(prompt, str) else prompt
    return Trajectory(group, sibling, group, ids, tokens, (0.0,) * len(tokens), (0,) * len(tokens), "stop", "")


@pytest.fixture
def reference(policy):
    """A frozen policy near `policy`."""
    other = Policy(policy.architecture, policy.compute, policy.tokenizer)
    other.load_state_dict({name: 1.1 * tensor for name, tensor in policy.state_dict().items()})
    return other.requires_grad_(False)


@pytest.fixture(scope="session")
def rows():
    """Three groups of different size, prompts and responses of different length, one of a single token."""
    return [row(0, 0, "12+3=", (5, 6, 7, 0)), row(0, 1, "12+3=", (9,)), row(1, 0, "4=", (8, 8, 3)),
            row(2, 0, "a long prompt", (1, 2, 3, 4, 5, 6)), row(2, 1, "a long prompt", (7, 0)),
            row(2, 2, "a long prompt", (20, 21, 22))]
