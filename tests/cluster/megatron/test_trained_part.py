"""Training a part of a policy over ranks: some layers or low-rank additions, as the embedded backend trains them."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from safetensors.torch import load_file

from rldsl.axes.types import Band
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.local.decoder.trained_part import Part
from rldsl.runtime.protocols import Cutting

from . import jobs
from .test_layouts import compare, named
from .test_steps import agree
from .updates import ADAMW, SAMPLING, SGD, job, made_rows, objective, spec_of

PIECES = Cutting(24, True, True)
LAYOUTS = [Parallel(), Parallel(tensor=2), Parallel(pipeline=2), Parallel(tensor=2, data=2)]
LAST, FIRST = Band(0.5, 1.0), Band(0.0, 0.5)
PARTS = [Part(LAST), Part(FIRST), Part(rank=4, alpha=8.0), Part(LAST, rank=3)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
@pytest.mark.parametrize("part", PARTS, ids=str)
@pytest.mark.parametrize("model", ["llama", "qwen3_untied"])
def test_the_gradient_is_that_of_the_embedded_backend(processes, folders, layout, part, model) -> None:
    made, rows = objective(), made_rows()
    updates = [job(made, rows, seed=s, cutting=PIECES) for s in range(2)]
    ours, theirs, mine, its = compare(processes, layout, folders[model], made, updates, rows, SGD, part=part)
    agree(ours, theirs)
    for one, other in zip(mine, its, strict=True):
        assert one.means()["grad_norm"] == pytest.approx(other.means()["grad_norm"], rel=1e-4)


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_another_layout_goes_on(processes, folders, tmp_path, part) -> None:
    made, rows = objective(), made_rows()
    parcels = [packed(job(made, rows, seed=s)) for s in range(4)]
    spec = spec_of(Parallel(pipeline=2), folders["llama"], "float32", made, SAMPLING, ADAMW, part=part)
    straight = processes.run(2, jobs.using, spec, jobs.saved_whole, tmp_path, rows, parcels)[0]
    for layout in (Parallel(), Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)):
        other = dataclasses.replace(spec, parallel=layout)
        again = processes.run(layout.ranks, jobs.using, other, jobs.resumed, tmp_path, rows, parcels)[0]
        assert max(float((straight[name] - again[name]).abs().max()) for name in straight) < 1e-6, layout


@pytest.mark.parametrize("layout", [Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)], ids=named)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("part", [PARTS[0], PARTS[-1]], ids=str)
def test_a_checkpoint_goes_on_bit_for_bit(processes, folders, tmp_path, layout, dtype, part) -> None:
    made, rows = objective(), made_rows()
    parcels = [packed(job(made, rows, seed=s)) for s in range(4)]
    spec = spec_of(layout, folders["llama"], dtype, made, SAMPLING, ADAMW, part=part)
    straight = processes.run(2, jobs.using, spec, jobs.saved, tmp_path, rows, parcels)[0]
    again = processes.run(2, jobs.using, spec, jobs.resumed, tmp_path, rows, parcels)[0]
    assert all(torch.equal(straight[name], again[name]) for name in straight)
    theirs = load_file(folders["llama"] / "model.safetensors")
    moved = {name for name in straight if not torch.equal(straight[name], theirs[name].to(straight[name].dtype))}
    assert moved and all(name.startswith("model.layers.1.") for name in moved)
