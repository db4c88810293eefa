"""What a step of the policy or the critic does beside its gradient: shards without rows, bad numbers, checkpoints."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from rldsl.algebra import expr as a
from rldsl.algebra.variables import ADVANTAGE, ENTROPY, KL_EXACT, SQUARES
from rldsl.backends.cluster.megatron.layout import Parallel, parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.cluster.training.rank import refuse
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.compiler.objective import Named
from rldsl.compiler.settings import Cluster
from rldsl.diagnostics import RecipeError
from rldsl.runtime.errors import RunError
from rldsl.runtime.protocols import Cutting

from . import jobs
from .test_experts import column
from .test_layouts import compare, named
from .updates import ADAMW, CLIP, SAMPLING, SGD, WHOLE, embedded, job, made_rows, objective, spec_of

PIECES = Cutting(24, True, True)
TWO = [Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)]
FOUR = [Parallel(tensor=2, pipeline=2), Parallel(pipeline=2, data=2), Parallel(tensor=2, data=2)]


def agree(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    assert float(ours.norm() / theirs.norm()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("layout", FOUR, ids=named)
def test_sizes_multiply(processes, folders, layout) -> None:
    made, rows = objective(WHOLE), made_rows()
    updates = [job(made, rows, cutting=PIECES)]
    ours, theirs, mine, its = compare(processes, layout, folders["qwen3"], made, updates, rows)
    agree(ours, theirs)
    assert mine[0].means()["grad_norm"] == pytest.approx(its[0].means()["grad_norm"], rel=1e-4)


@pytest.mark.parametrize("term", [CLIP, WHOLE])
def test_a_shard_may_be_empty(processes, folders, term) -> None:
    """C-098: one row on two ranks trains as on one."""
    made, rows = objective(term), made_rows(1)
    updates = [job(made, rows, old=torch.full((len(rows[0].tokens),), -6.0, dtype=torch.float64))]
    ours, theirs, mine, its = compare(processes, Parallel(data=2), folders["llama"], made, updates, rows)
    agree(ours, theirs)
    assert mine[0].means() == pytest.approx(its[0].means(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("layout", TWO, ids=named)
def test_what_is_over_the_whole_vocabulary_has_its_gradient(processes, folders, layout) -> None:
    made = objective(CLIP, (Named("entropy", 0.3 * ENTROPY), Named("kl_exact", -0.2 * KL_EXACT),
                            Named("squares", 0.5 * SQUARES)))
    rows = made_rows()
    updates = [job(made, rows, wants=("logp_current", "entropy", "kl_exact", "squares"), cutting=PIECES)]
    ours, theirs, mine, its = compare(processes, layout, folders["llama"], made, updates, rows,
                                      reference=folders["near"])
    agree(ours, theirs)
    for name in ("entropy", "kl_exact"):
        assert mine[0].means()[name] == pytest.approx(its[0].means()[name], rel=1e-4)


@pytest.mark.parametrize("layout", TWO, ids=named)
def test_rows_without_advantage_may_be_left_out_and_all_of_them_too(processes, folders, layout) -> None:
    made, rows = objective(regularisers=()), made_rows()
    update = job(made, rows, zero=True)
    some = update.batch.with_columns(advantage=update.batch.value(a.where(a.gt(ADVANTAGE, 0.9), ADVANTAGE, 0.0)))
    none = update.batch.with_columns(advantage=update.batch.value(0.0 * ADVANTAGE))
    updates = [dataclasses.replace(update, batch=batch) for batch in (some, none)]
    ours, theirs, mine, its = compare(processes, layout, folders["llama"], made, updates, rows, ADAMW)
    assert float((ours - theirs).abs().max()) < 1e-5
    for one, other in zip(mine, its, strict=True):
        assert one.means()["rows_computed"] == other.means()["rows_computed"]
    assert mine[1].means()["rows_computed"] == 0 and mine[1].means()["grad_norm"] == 0


@pytest.mark.parametrize("layout", TWO, ids=named)
def test_the_critic_is_that_of_the_embedded_backend(processes, folders, layout) -> None:
    made, rows = objective(target=ADVANTAGE), made_rows()
    updates = [job(made, rows, seed=s, cutting=PIECES, critic=True, policy=s != 0, value_clip=0.2) for s in range(3)]
    engine = embedded(folders["llama"], made, ADAMW, critic=(ADAMW, 2))
    theirs = [engine.update(u) for u in updates]
    spec = spec_of(layout, folders["llama"], "float32", made, SAMPLING, ADAMW, critic=(ADAMW, 2))
    answers = processes.run(2, jobs.using, spec, jobs.valued, rows, [packed(u) for u in updates], PIECES)
    found = column([values for *_, values in answers], rows, "values")
    assert float((found - engine.values(rows, PIECES)).abs().max()) < 1e-4
    for number, expected in enumerate(theirs):
        sums = [tallies[number].sums for _, tallies, _ in answers if tallies[number]]
        for name in ("critic/value_loss", "critic/grad_norm"):
            total, weight = (sum(s.get(name, (0.0, 0.0))[k] for s in sums) for k in range(2))
            assert total / weight == pytest.approx(expected.means()[name], rel=1e-3), name


@pytest.mark.parametrize("layout", [*TWO, Parallel()], ids=named)
def test_numbers_that_are_not_finite_stop_every_rank_before_its_step(processes, folders, layout) -> None:
    """C-013: nothing is trained on them, on any rank."""
    made, rows = objective(), made_rows()
    update = job(made, rows)
    bad = update.batch.columns["advantage"].data.clone()
    bad[-1] = float("nan")
    update = dataclasses.replace(update, batch=update.batch.with_columns(
        advantage=dataclasses.replace(update.batch.columns["advantage"], data=bad)))
    spec = spec_of(layout, folders["llama"], "float32", made, SAMPLING, SGD)
    for said, same, goes_on in processes.run(layout.ranks, jobs.using, spec, jobs.refused, rows, packed(update)):
        assert "RL601" in said and "not finite" in said and same and goes_on


@pytest.mark.parametrize("layout", TWO, ids=named)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_checkpoint_goes_on_bit_for_bit(processes, folders, tmp_path, layout, dtype) -> None:
    """C-036: N + M steps are N, a resume, M. C-078: a torn or missing piece is named."""
    made, rows = objective(target=ADVANTAGE), made_rows()
    parcels = [packed(job(made, rows, seed=s, critic=True)) for s in range(4)]
    spec = spec_of(layout, folders["llama"], dtype, made, SAMPLING, ADAMW, critic=(ADAMW, 1))
    straight = processes.run(2, jobs.using, spec, jobs.saved, tmp_path, rows, parcels)[0]
    again = processes.run(2, jobs.using, spec, jobs.resumed, tmp_path, rows, parcels)[0]
    assert len(list(tmp_path.iterdir())) == 4
    assert all(torch.equal(straight[name], again[name]) for name in straight)
    other = dataclasses.replace(spec, parallel=next(p for p in TWO if p != layout))
    with pytest.raises(RunError, match="RL609"):
        processes.run(2, jobs.using, other, jobs.resumed, tmp_path, rows, parcels)
    (tmp_path / "policy.rank-0001.pt").write_bytes(b"torn")
    with pytest.raises(RunError, match=r"RL609 .*policy\.rank-0001\.pt"):
        processes.run(2, jobs.using, spec, jobs.resumed, tmp_path, rows, parcels)


@pytest.mark.parametrize("layout", [Parallel(data=2)], ids=named)
def test_moments_can_be_forgotten(processes, folders, layout) -> None:
    made, rows = objective(), made_rows()
    first, second = (job(made, rows, seed=s) for s in range(2))
    steady = dataclasses.replace(ADAMW, arguments={**ADAMW.arguments, "eps": 1e-4})  # a first step is ±lr without it
    engine = embedded(folders["llama"], made, steady)
    engine.update(first)
    engine.forget()
    engine.update(second)
    spec = spec_of(layout, folders["llama"], "float32", made, SAMPLING, steady)
    found = processes.run(2, jobs.using, spec, jobs.begun_anew, rows, packed(first), packed(second))[0]
    theirs = exported(engine.policy)
    assert max(float((found[name] - theirs[name]).abs().max()) for name in theirs) < 1e-5


@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-6), ("bfloat16", 1e-2)])
def test_another_layout_goes_on_from_the_whole_form(processes, folders, tmp_path, dtype, near) -> None:
    made, rows = objective(), made_rows()
    parcels = [packed(job(made, rows, seed=s)) for s in range(4)]
    spec = spec_of(Parallel(tensor=2), folders["llama"], dtype, made, SAMPLING, ADAMW)
    straight = processes.run(2, jobs.using, spec, jobs.saved_whole, tmp_path, rows, parcels)[0]
    for layout in (Parallel(), Parallel(pipeline=2), Parallel(data=2)):
        other = dataclasses.replace(spec, parallel=layout)
        again = processes.run(layout.ranks, jobs.using, other, jobs.resumed, tmp_path, rows, parcels)[0]
        assert max(float((straight[name] - again[name]).abs().max()) for name in straight) < near
    with pytest.raises(RunError, match="RL609"):
        processes.run(2, jobs.using, other, jobs.resumed, tmp_path / "elsewhere", rows, parcels)


def test_a_vocabulary_that_the_new_layout_has_to_pad_goes_on(processes, folders, tmp_path) -> None:
    """97 rows of an embedding and of a head become 98 in two parts, and the other way round above."""
    made, rows = objective(), made_rows()
    parcels = [packed(job(made, rows, seed=s)) for s in range(4)]
    spec = spec_of(Parallel(), folders["qwen3_untied"], "float32", made, SAMPLING, ADAMW)
    straight = processes.run(1, jobs.using, spec, jobs.saved_whole, tmp_path, rows, parcels)[0]
    other = dataclasses.replace(spec, parallel=Parallel(tensor=2))
    again = processes.run(2, jobs.using, other, jobs.resumed, tmp_path, rows, parcels)[0]
    assert all(again[name].shape == straight[name].shape for name in straight)
    assert max(float((straight[name] - again[name]).abs().max()) for name in straight) < 1e-6


def test_the_cluster_block_makes_the_layout() -> None:
    assert parallel(Cluster(None, tensor=2, pipeline=2, expert=2), 8) == Parallel(2, 2, 2, 2)
    with pytest.raises(RecipeError, match=r"RL406 .* context: 2"):
        parallel(Cluster(None, context=2), 4)
    with pytest.raises(RecipeError, match=r"RL401 3 ranks of the train role"):
        parallel(Cluster(None, tensor=2), 3)
    with pytest.raises(RecipeError, match="RL401"):
        parallel(Cluster(None, pipeline=2, expert=4), 4)


@pytest.mark.parametrize(("layout", "said"), [
    (Parallel(tensor=3), "4 attention heads, which tensor 3"), (Parallel(pipeline=4), "2 layers, which pipeline 4"),
    (Parallel(data=2, expert=2), "0 experts, which expert 2")])
def test_a_model_that_the_layout_does_not_divide_is_refused(folders, layout, said) -> None:
    with pytest.raises(RecipeError, match=f"RL402 .* has {said} does not divide"):
        refuse(spec_of(layout, folders["llama"], "float32", objective(), SAMPLING, SGD))


def test_an_optimizer_that_megatron_has_not_is_refused(processes, folders) -> None:
    spec = spec_of(Parallel(), folders["llama"], "float32", objective(), SAMPLING,
                    dataclasses.replace(SGD, target="torch.optim:Adagrad"))
    with pytest.raises(RecipeError, match=r"RL406 .* torch\.optim:Adagrad"):
        processes.run(1, jobs.using, spec, jobs.round_trip)
