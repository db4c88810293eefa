"""Fingerprints do not depend on how an engine keeps weights, and on nothing less than all of their bits."""

from __future__ import annotations

import pytest
import torch

from rldsl.backends.cluster.weights import agree, digest, group, hashed, pack, sums, unpack


def tensors():
    torch.manual_seed(0)
    names = {"model.embed_tokens.weight": (10, 4), "model.layers.0.self_attn.q_proj.weight": (4, 4),
             "model.layers.0.self_attn.k_proj.weight": (2, 4), "model.layers.0.self_attn.v_proj.weight": (2, 4),
             "model.layers.0.self_attn.q_proj.bias": (4,), "model.layers.0.mlp.gate.weight": (2, 4),
             "model.layers.0.mlp.experts.0.up_proj.weight": (3, 4),
             "model.layers.0.mlp.experts.1.up_proj.weight": (3, 4)}
    return {name: torch.randn(shape) for name, shape in names.items()}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_buffer_gives_back_what_was_packed(dtype):
    manifest, flat = pack(tensors(), dtype)
    assert flat.nbytes == manifest.bytes
    for name, tensor in unpack(manifest, flat):
        assert torch.equal(tensor, tensors()[name].to(getattr(torch, dtype)))


def test_a_buffer_of_another_size_is_refused():
    manifest, flat = pack(tensors(), "float32")
    with pytest.raises(ValueError, match="bytes"):
        list(unpack(manifest, flat[:-4]))


def test_stacked_padded_and_reordered_tensors_have_the_same_fingerprint():
    t = tensors()
    prefix = "model.layers.0."
    held = {
        "model.embed_tokens.weight": torch.cat((t["model.embed_tokens.weight"], torch.zeros(6, 4))),
        prefix + "self_attn.qkv_proj.weight": torch.cat([t[f"{prefix}self_attn.{x}_proj.weight"] for x in "qkv"]),
        prefix + "self_attn.qkv_proj.bias": t[prefix + "self_attn.q_proj.bias"],
        prefix + "mlp.gate.weight": t[prefix + "mlp.gate.weight"],
        prefix + "mlp.experts.w13_weight": torch.stack([t[f"{prefix}mlp.experts.{i}.up_proj.weight"].t()
                                                        for i in (1, 0)]),
    }
    manifest, _ = pack(t, "float32")
    assert digest(sums(held.items())) == manifest.fingerprint


def test_one_bit_changes_it():
    x = torch.randn(1000)
    before = hashed(x)
    x.view(torch.int32)[123] ^= 1
    assert hashed(x) != before


def test_two_changes_that_cancel_in_a_sum_of_bits_do_not_cancel():
    x = torch.arange(1, 9, dtype=torch.int32)
    y = x.clone()
    y[2] += 5
    y[3] -= 5
    assert hashed(x.view(torch.float32)) != hashed(y.view(torch.float32))


def test_zeros_count_nothing_and_their_sign_does():
    assert hashed(torch.zeros(50)) == 0 and hashed(torch.tensor([-0.0])) != 0


def test_groups_are_named_after_what_engines_stack():
    assert group("model.layers.3.self_attn.k_proj.bias") == "model.layers.3.self_attn.qkv_proj.bias"
    assert group("model.layers.3.mlp.up_proj.weight") == "model.layers.3.mlp.gate_up_proj.weight"
    assert group("model.layers.3.mlp.experts.7.down_proj.weight") == "model.layers.3.mlp.experts"
    assert group("model.norm.weight") == "model.norm.weight"


def test_workers_agree_together_or_each():
    wanted = {"shared": 5, "copied": 7}
    assert agree(wanted, [{"shared": 2, "copied": 7}, {"shared": 3, "copied": 7}])
    assert not agree(wanted, [{"shared": 2, "copied": 7}, {"shared": 2, "copied": 7}])
    assert not agree(wanted, [{"shared": 5}])
    assert not agree(wanted, [{"shared": 5, "copied": 7, "left behind": 1}])
