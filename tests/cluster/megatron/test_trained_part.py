"""Training a part of a policy over ranks: some layers or low-rank additions, as the embedded backend trains them."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from safetensors.torch import load_file

from rldsl.axes.types import Band
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.cluster.training.rank import refuse
from rldsl.backends.local.decoder.trained_part import Part
from rldsl.diagnostics import RecipeError
from rldsl.runtime.protocols import Cutting

from . import jobs
from .test_layouts import compare, flat
from .test_steps import agree
from .updates import ADAMW, SAMPLING, SGD, job, made_rows, objective, spec_of

PIECES = Cutting(24, True, True)
SPREAD = [Parallel(tensor=2), Parallel(pipeline=2), Parallel(tensor=2, data=2)]
LAST, FIRST = Band(0.5, 1.0), Band(0.0, 0.5)
PARTS = {"last": Part(LAST), "first": Part(FIRST), "additions": Part(rank=4, alpha=8.0), "some": Part(LAST, rank=3)}


@pytest.mark.parametrize(("model", "part", "layout"), [
    *(("llama", "last", p) for p in SPREAD), *(("qwen2_untied", "first", p) for p in SPREAD),
    *(("qwen3", "additions", p) for p in (Parallel(), *SPREAD)), *(("qwen2", "some", p) for p in SPREAD),
    ("one_key", "additions", Parallel(tensor=2))])
def test_the_gradient_is_that_of_the_embedded_backend(processes, folders, model, part, layout) -> None:
    """Additions begin with the same numbers; with two stages, one has nothing to train."""
    made, rows = objective(), made_rows()
    updates = [job(made, rows, seed=s, cutting=Cutting(24, True, True)) for s in range(2)]
    ours, theirs, mine, its = compare(processes, layout, folders[model], made, updates, rows, SGD, part=PARTS[part])
    agree(ours, theirs)
    for one, other in zip(mine, its, strict=True):
        assert one.means()["grad_norm"] == pytest.approx(other.means()["grad_norm"], rel=1e-4)


@pytest.mark.parametrize("part", ["first", "some"])
def test_another_layout_goes_on(processes, folders, tmp_path, part) -> None:
    made, rows = objective(), made_rows()
    parcels = [packed(job(made, rows, seed=s)) for s in range(4)]
    spec = spec_of(Parallel(pipeline=2), folders["llama"], "float32", made, SAMPLING, ADAMW, part=PARTS[part])
    straight = processes.run(2, jobs.using, spec, jobs.saved_whole, tmp_path, rows, parcels)[0]
    for layout in (Parallel(), Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)):
        other = dataclasses.replace(spec, parallel=layout)
        again = processes.run(layout.ranks, jobs.using, other, jobs.resumed, tmp_path, rows, parcels)[0]
        assert max(float((straight[name] - again[name]).abs().max()) for name in straight) < 1e-6, layout


@pytest.mark.parametrize(("layout", "part", "dtype"), [
    (Parallel(tensor=2), "some", "float32"), (Parallel(pipeline=2), "last", "bfloat16"),
    (Parallel(data=2), "some", "bfloat16")])
def test_a_checkpoint_goes_on_bit_for_bit_and_nothing_else_moves(processes, folders, tmp_path, layout, dtype, part
                                                                 ) -> None:
    made, rows = objective(), made_rows()
    parcels = [packed(job(made, rows, seed=s)) for s in range(4)]
    spec = spec_of(layout, folders["llama"], dtype, made, SAMPLING, ADAMW, part=PARTS[part])
    straight = processes.run(2, jobs.using, spec, jobs.saved, tmp_path, rows, parcels)[0]
    again = processes.run(2, jobs.using, spec, jobs.resumed, tmp_path, rows, parcels)[0]
    assert all(torch.equal(straight[name], again[name]) for name in straight)
    theirs = load_file(folders["llama"] / "model.safetensors")
    moved = {name for name in straight if not torch.equal(straight[name], theirs[name].to(straight[name].dtype))}
    assert moved and all(name.startswith("model.layers.1.") for name in moved)


def test_what_rounding_takes_from_additions_is_measured_over_all_ranks(processes, folders) -> None:
    """C-065."""
    made, rows = objective(), made_rows()
    update, shares = packed(job(made, rows)), []
    for layout in (Parallel(), Parallel(tensor=2), Parallel(pipeline=2)):
        spec = spec_of(layout, folders["llama"], "bfloat16", made, SAMPLING, ADAMW, part=PARTS["some"])
        answers = processes.run(layout.ranks, jobs.using, spec, jobs.trained, rows, [update])
        shares += [t[0].means()["lora/rounded_away"] for _, t in answers if t[0]]
    assert 0.01 < shares[0] < 1 and shares == pytest.approx([shares[0]] * 3, rel=0.05)


def test_layers_of_experts_are_trained_alike_in_every_layout(processes, moe) -> None:
    made, rows, found = objective(), made_rows(), []
    update, theirs = packed(job(made, rows)), load_file(moe / "model.safetensors")
    for layout in (Parallel(), Parallel(expert=2, data=2), Parallel(tensor=2), Parallel(pipeline=2)):
        spec = spec_of(layout, moe, "float32", made, SAMPLING, SGD, part=PARTS["last"])
        after = processes.run(layout.ranks, jobs.using, spec, jobs.trained, rows, [update])[0][0]
        moved = {name for name in after if not torch.equal(after[name], theirs[name])}
        assert moved == {name for name in after if name.startswith("model.layers.1.")}
        found.append(flat(after) - flat(theirs))
    for other in found[1:]:
        agree(other, found[0])


def test_additions_to_experts_are_refused(moe) -> None:
    with pytest.raises(RecipeError, match=r"RL406 .* optim\.lora_rank and a model with experts"):
        refuse(spec_of(Parallel(), moe, "float32", objective(), SAMPLING, SGD, part=PARTS["additions"]))
