"""Training on rounded weights over ranks: the embedded backend's blocks, gradient and weights, whatever holds them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.local.decoder.numerics import FORMATS
from rldsl.backends.local.decoder.trained_part import Part
from rldsl.backends.local.formats.hf_folder import write_folder
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tally import Tally

from . import jobs
from .conftest import toy
from .test_layouts import flat, named
from .test_steps import agree
from .updates import ALL, SAMPLING, SGD, embedded, job, made_rows, objective, spec_of

LAYOUTS = [Parallel(), Parallel(tensor=2), Parallel(pipeline=2), Parallel(tensor=2, data=2)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    """A model whose ranks share blocks of 128 × 128 and of 32, and whose queries and keys do."""
    folder = tmp_path_factory.mktemp("wide")
    write_folder(toy("qwen2", True, width=160, heads=4, kv_heads=2, head_width=48, mlp=176), folder)
    return folder


@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
@pytest.mark.parametrize(("weights", "part"), [("mxfp4", ALL), ("fp8", ALL), ("fp8", Part(rank=3))], ids=str)
def test_weights_and_gradient_are_those_of_the_embedded_backend(processes, wide, tmp_path, layout, weights, part
                                                                ) -> None:
    """C-029: what is sent to the engines is bit for bit what is computed with; the masters stay unrounded."""
    made, rows = objective(), made_rows()
    update = job(made, rows, cutting=Cutting(24, True, True))
    engine = embedded(wide, made, SGD, part=part, weights=weights)
    start, rounded = exported(engine.policy), exported(engine.policy, used=True)
    its = engine.update(update)
    spec = spec_of(layout, wide, "float32", made, SAMPLING, SGD, part=part, weights=weights)
    answers = processes.run(layout.ranks, jobs.using, spec, jobs.sent_and_written, tmp_path, rows, packed(update))
    sent, after = answers[0][0], load_file(tmp_path / "policy.safetensors")
    assert sent.keys() == rounded.keys() and all(torch.equal(sent[name], rounded[name]) for name in sent)
    assert {n for n in start if not torch.equal(sent[n], start[n])} == {n for n in start if "_proj.weight" in n}
    agree(flat(after) - flat(start), flat(exported(engine.policy)) - flat(start))
    mine = Tally()
    for _, tally in answers:
        mine.include(tally or Tally())
    assert mine.means() == pytest.approx(its.means(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("weights", ["mxfp4", "fp8"])
def test_experts_are_rounded_alike_in_every_layout(processes, moe, weights) -> None:
    """Each expert's matrices for themselves, the router not at all."""
    made, theirs = objective(), load_file(moe / "model.safetensors")
    found = [processes.run(p.ranks, jobs.using, spec_of(p, moe, "float32", made, SAMPLING, SGD, weights=weights),
                           jobs.round_trip)[0] for p in (Parallel(), Parallel(expert=2, data=2), Parallel(tensor=2))]
    for name, tensor in found[0].items():
        assert all(torch.equal(tensor, other[name]) for other in found[1:]), name
        assert torch.equal(tensor, theirs[name]) is ("_proj.weight" not in name), name
    name = "model.layers.1.mlp.experts.3.down_proj.weight"
    assert torch.equal(found[0][name], FORMATS[weights](theirs[name]))
