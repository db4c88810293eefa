"""Sampling by the forward of training: every recorded log-prob is the one that training finds, in all its bits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from rldsl.backends.local.decoder.numerics import numerics
from rldsl.backends.local.formats.toy import toy_policy
from rldsl.backends.local.sampling.sampler import sample
from rldsl.backends.local.training.forward import forward
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions

OPTIONS = SamplingOptions(temperature=0.9, max_tokens=24, top_p=0.95)
REQUESTS = [Request(0, 0, (5, 6, 7), 3), Request(1, 1, (8, 9, 10, 11, 12), 2)]
WANTED = "logp_current"


@pytest.fixture
def sharp():
    policy = toy_policy("toy:llama-2x64", torch.float32, 3)
    with torch.no_grad():
        for p in policy.parameters():
            p.mul_(6) if p.dim() == 2 else None
    return policy


def sampled(policy, requests=REQUESTS, **changes):
    return sample(policy, requests, replace(OPTIONS, **changes), seed=1, batch=0, version=0)


def apart(policy, rows, **how) -> int:
    """Tokens whose log-prob in training is not the recorded one."""
    found = forward(policy, rows, frozenset([WANTED]), OPTIONS, grad=False, **how)[WANTED]
    return int((found != torch.tensor([x for row in rows for x in row.logps])).sum())


def test_training_finds_the_recorded_log_probs_again(sharp):
    rows = sampled(sharp)
    assert apart(sharp, rows) > 0, "kept keys and values must round otherwise for this to say anything"
    sharp.numerics = numerics({"bit_equal": True})
    again = sampled(sharp)
    assert [r.tokens for r in again] == [r.tokens for r in rows]
    assert {len(r.tokens) for r in again} != {24} and sum(len(r.tokens) for r in again) > 40
    assert apart(sharp, again) == apart(sharp, again, micro_tokens=30) == 0


def test_a_prefix_is_gone_on_from(sharp):
    sharp.numerics = numerics({"bit_equal": True})
    whole = next(row for row in sampled(sharp) if len(row.tokens) > 8)
    old = Prefix(whole.tokens[:5], whole.logps[:5], whole.versions[:5])
    (found,) = sampled(sharp, [Request(whole.group, whole.row, whole.prompt, 1, whole.sibling, old)])
    assert (found.tokens, found.logps) == (whole.tokens, whole.logps)
