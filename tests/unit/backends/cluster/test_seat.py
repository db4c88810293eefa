"""A model that is asked computes with what is pushed, and with nothing else."""

from __future__ import annotations

import torch

from rldsl.backends.cluster.judging.seat import Seat, SeatSpec
from rldsl.backends.cluster.model_folder import source
from rldsl.backends.cluster.weights import pack
from rldsl.backends.local.decoder.numerics import numerics
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.load import load_policy
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.roles import POLICY

from .test_small_parts import recipe

MODEL = "toy:llama-2x128"


def test_weights_that_are_rounded_are_not_rounded_again(tmp_path):
    made = recipe(tmp_path, "nodes: 1", sets=("distribution=tis(2.0) + qat(fp8)", "model.dtype=bfloat16"))
    plan, _ = compile_recipe(made, profile=None, sets=[])
    found = source(MODEL, "bfloat16", 1, tmp_path, tmp_path / "model", None)
    seat = Seat(SeatSpec(plan, tmp_path, tmp_path, {POLICY: found}))
    policy, _ = load_policy(MODEL, "bfloat16", 2, device="cpu")
    policy.numerics = numerics({"weights": "fp8"})
    seat.take(1, *pack(exported(policy, used=True), "bfloat16"))
    held = seat._models[POLICY].policy.weights()
    for own, theirs in zip(held.layers, policy.weights().layers, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(own, theirs, strict=True) if a is not None and a.dim() == 2)
