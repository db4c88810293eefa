"""Weights rounded in every forward: the formats by hand, the gradient past them, one rounding for both engines."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from rldsl.backends.local.decoder.numerics import fp8, mxfp4, numerics
from rldsl.backends.local.formats.toy import toy_policy
from rldsl.backends.local.sampling.sampler import sample
from rldsl.backends.local.training.forward import forward
from rldsl.runtime.trajectory import Prefix, Request, SamplingOptions

OPTIONS = SamplingOptions(temperature=1.0, max_tokens=8)
GRID = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0}


def test_mxfp4_by_hand():
    """The largest is 7, so the scale is 2^(2 − 2) = 1; ties go to the even element and 7 saturates at 6."""
    row = torch.zeros(1, 32)
    row[0, :10] = torch.tensor([7.0, 5.0, -2.5, 0.25, 0.75, 1.25, 3.5, -0.2, 0.3, 2.4])
    assert mxfp4(row)[0, :10].tolist() == [6.0, 4.0, -2.0, 0.0, 1.0, 1.0, 4.0, -0.0, 0.5, 2.0]


def test_mxfp4_scales_each_block_of_32_by_a_power_of_two():
    weight = torch.randn(5, 80, generator=torch.Generator().manual_seed(1))
    found = mxfp4(weight)
    assert found.shape == weight.shape
    for r in range(5):
        for start in range(0, 80, 32):
            block = weight[r, start:start + 32]
            scale = 2.0 ** (torch.floor(torch.log2(block.abs().max())).item() - 2)
            assert set((found[r, start:start + 32] / scale).abs().tolist()) <= GRID
            free = block.abs() < 6 * scale
            assert ((found[r, start:start + 32] - block).abs()[free] <= scale).all()


def test_fp8_keeps_the_largest_of_a_block_and_three_bits_of_the_rest():
    weight = torch.randn(130, 200, generator=torch.Generator().manual_seed(2))
    found = fp8(weight)
    for rows in (slice(0, 128), slice(128, 130)):
        for columns in (slice(0, 128), slice(128, 200)):
            a, b = weight[rows, columns], found[rows, columns]
            top = a.abs() == a.abs().max()
            assert torch.allclose(a[top], b[top], rtol=1e-6)
            normal = a.abs() > a.abs().max() / 448 * 2.0**-6
            assert ((a - b).abs()[normal] <= a.abs()[normal] * 2.0**-4 * (1 + 1e-5)).all()
    assert fp8(torch.zeros(3, 3)).tolist() == mxfp4(torch.zeros(3, 3)).tolist() == torch.zeros(3, 3).tolist()


def test_the_gradient_passes_the_rounding():
    weight = torch.randn(4, 32, requires_grad=True)
    slope = torch.randn(4, 32)
    (numerics({"weights": "mxfp4"}).rounded(weight) * slope).sum().backward()
    assert torch.equal(weight.grad, slope)


@pytest.mark.parametrize("asked", [{"weights": "mxfp4"}, {"weights": "fp8"}, {"head_dtype": "float32"}])
def test_sampling_and_training_see_the_same_rounding(asked):
    policy = toy_policy("toy:llama-2x64", torch.bfloat16, 3)
    plain = _logps(policy, _sampled(policy))
    policy.numerics = numerics(asked)
    rows = _sampled(policy)
    recorded = torch.tensor([x for row in rows for x in row.logps])
    gap = (_logps(policy, rows) - recorded).abs().max()
    assert gap < (0.02 if "head_dtype" in asked else 0.05)
    assert not torch.equal(_logps(policy, rows)[:8], plain[:8])


@pytest.mark.parametrize("cut", [{"top_p": 0.6}, {"top_k": 4}])
def test_replayed_candidates_keep_the_recorded_distribution_when_the_weights_have_moved(cut):
    """A policy that has moved would truncate otherwise; over the recorded candidates the ratio is the true one."""
    policy = toy_policy("toy:llama-2x64", torch.float32, 3)
    policy.numerics = numerics({"replay_candidates": True})
    with torch.no_grad():
        for p in policy.parameters():
            p.mul_(6) if p.dim() == 2 else None
    options = dataclasses.replace(OPTIONS, **cut)
    rows = _sampled(policy, options)
    recorded = torch.tensor([x for row in rows for x in row.logps])
    assert (_logps(policy, rows, options) - recorded).abs().max() < 1e-4
    assert all(t in ids for row in rows for t, ids in zip(row.tokens, row.candidates, strict=True))
    sets = [ids for row in rows for ids in row.candidates]
    assert all(len(ids) == 4 for ids in sets) if "top_k" in cut else len({len(ids) for ids in sets}) > 1
    with torch.no_grad():
        policy.layers[0].down.add_(0.2 * torch.randn(policy.layers[0].down.shape,
                                                    generator=torch.Generator().manual_seed(1)))
    moved = _logps(policy, rows, options)
    assert moved.isfinite().all()
    again = _logps(policy, [dataclasses.replace(r, candidates=()) for r in rows], options)
    assert (moved - again).abs().max() > 0.05
    full = _logps(policy, [dataclasses.replace(r, candidates=()) for r in rows], OPTIONS)
    assert (moved >= full - 1e-5).all()


def test_a_prefix_keeps_its_candidates():
    policy = toy_policy("toy:llama-2x64", torch.float32, 3)
    policy.numerics = numerics({"replay_candidates": True})
    options = dataclasses.replace(OPTIONS, top_k=3)
    whole = next(row for row in _sampled(policy, options) if len(row.tokens) > 4)
    old = Prefix(whole.tokens[:3], whole.logps[:3], whole.versions[:3], whole.candidates[:3])
    request = Request(0, 0, whole.prompt, 1, whole.sibling, old)
    (found,) = sample(policy, [request], options, seed=1, batch=0, version=0)
    assert (found.tokens, found.candidates) == (whole.tokens, whole.candidates)


def _sampled(policy, options=OPTIONS):
    request = Request(0, 0, policy.tokenizer.encode("12+34="), 8)
    return sample(policy, [request], options, seed=1, batch=0, version=0)


def _logps(policy, rows, options=OPTIONS):
    return forward(policy, rows, frozenset({"logp_current"}), options, grad=False)["logp_current"]
