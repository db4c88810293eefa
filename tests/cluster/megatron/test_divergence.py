"""Divergences over a spread vocabulary: values and gradients of the embedded backend, and no logits on their way."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from rldsl.algebra.divergence import FORWARD_KL, JSD, REVERSE_KL, Divergence
from rldsl.backends.cluster.megatron import divergence
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.backends.local.training.divergence import Sides
from rldsl.backends.local.training.divergence import token_divergence as embedded_divergence
from rldsl.backends.local.training.teachers import Teachers
from rldsl.compiler.objective import Named
from rldsl.runtime.protocols import Cutting

from . import jobs
from .test_layouts import flat, named
from .test_logprob import ALONE, OPTIONS, inputs
from .updates import SAMPLING, SGD, embedded, job, load, made_rows, objective, spec_of

KINDS = [Divergence(REVERSE_KL), Divergence(FORWARD_KL, temperature=1.7), Divergence(JSD, beta=0.3),
         Divergence(REVERSE_KL, top=5), Divergence(FORWARD_KL, top=60), Divergence(JSD, top=5, rescaled=False),
         Divergence(FORWARD_KL, top=7, rescaled=False, temperature=0.6)]


@pytest.mark.parametrize("what", KINDS, ids=lambda d: d.name)
@pytest.mark.parametrize("listed", [False, True])
def test_one_rank_gives_the_divergence_of_the_embedded_backend(monkeypatch, what, listed) -> None:
    monkeypatch.setattr(divergence, "CHUNK_LOGITS", 32 * 50)
    weights, found = torch.randn(23, generator=torch.Generator().manual_seed(4)), []
    some = torch.randint(0, 50, (23, 6), generator=torch.Generator().manual_seed(8))
    candidates = torch.cat([some, inputs()[2].unsqueeze(1)], 1) if listed else None
    for ours in (True, False):
        hidden, head, targets, other, near = inputs()
        sides = Sides(hidden, head, other, near)
        value = divergence.token_divergence(sides, targets, ALONE, OPTIONS, what, candidates=candidates) if (
            ours) else embedded_divergence(sides, targets, OPTIONS, what, candidates)
        (weights * value).sum().backward()
        found.append((value.detach(), hidden.grad, head.grad))
    for one, two in zip(*found, strict=True):
        assert float((one - two).abs().max()) < 1e-5 * max(1.0, float(two.abs().max()))


@pytest.mark.parametrize("layout", [Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)], ids=named)
@pytest.mark.parametrize("kinds", [KINDS[:4], KINDS[4:]], ids=["full", "top"])
@pytest.mark.parametrize("of", [None, [1, 0, 1].__getitem__], ids=["mean", "by row"])
def test_every_layout_takes_the_step_of_the_embedded_backend(processes, folders, layout, kinds, of) -> None:
    folder, models = folders["qwen3"], [folders["qwen3_untied"], folders["near"]]
    made = objective(-kinds[0].variable, tuple(Named(f"d{k}", -0.5 * d.variable) for k, d in enumerate(kinds[1:])))
    rows, wants = made_rows(), ("logp_current", *(d.name for d in kinds))
    update = job(made, rows, wants=wants, cutting=Cutting(24, True, True))
    engine = embedded(folder, made, SGD, teachers=Teachers(tuple(map(load, models)), of))
    start, expected = flat(exported(engine.policy)), engine.update(update).means()
    names = ("teacher-1", "teacher-2")
    spec = spec_of(layout, folder, "float32", made, SAMPLING, SGD, frozen=dict(zip(names, models, strict=True)),
                   teachers=Teachers(names, of))
    answers = processes.run(2, jobs.using, spec, jobs.trained, rows, [packed(update)])
    ours, theirs = flat(answers[0][0]) - start, flat(exported(engine.policy)) - start
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    assert float(ours.norm() / theirs.norm()) == pytest.approx(1, abs=1e-3)
    sums = [tally.sums for _, (tally,) in answers if tally]
    for name in ("grad_norm", *(n for n in expected if n.startswith(("objective/", "divergence/")))):
        total, weight = (sum(s.get(name, (0.0, 0.0))[k] for s in sums) for k in range(2))
        assert (total / weight if weight else total) == pytest.approx(expected[name], rel=1e-3, abs=1e-6), name


def test_a_policy_with_experts_learns_from_a_dense_teacher_over_two_ranks_as_over_one(processes, folders, moe) -> None:
    what, rows = Divergence(JSD, top=20), made_rows()
    update = packed(job(objective(-what.variable, ()), rows, wants=("logp_current", what.name)))
    found = []
    for layout in (Parallel(), Parallel(tensor=2)):
        spec = spec_of(layout, moe, "float32", objective(-what.variable, ()), SAMPLING, SGD,
                       frozen={"teacher": folders["near"]}, teachers=Teachers(("teacher",)))
        found.append(flat(processes.run(layout.ranks, jobs.using, spec, jobs.trained, rows, [update])[0][0]))
    start = flat(processes.run(1, jobs.using, spec_of(Parallel(), moe, "float32", objective(), SAMPLING, SGD),
                               jobs.round_trip)[0])
    one, two = (weights - start for weights in found)
    assert float(torch.cosine_similarity(one, two, 0)) > 0.9999
    assert float(one.norm() / two.norm()) == pytest.approx(1, abs=1e-3)


def test_a_top_k_sends_k_numbers_of_each_rank(processes, folders) -> None:
    names = ("teacher",)
    what, rows = Divergence(REVERSE_KL, top=4), [r for r in made_rows() if r.tokens]
    made = objective(-what.variable, ())
    spec = spec_of(Parallel(tensor=2), folders["llama"], "float32", made, SAMPLING, SGD,
                   frozen={"teacher": folders["near"]}, teachers=Teachers(names))
    update = packed(job(made, rows, wants=("logp_current", what.name)))
    tokens = sum(len(r.tokens) for r in rows)
    for gathered, reduced in processes.run(2, jobs.using, spec, sent, rows, update):
        assert gathered == 4 * tokens and reduced == 2 * tokens


def sent(rank, rows, parcel) -> tuple[int, int]:
    """(the most numbers that one gathering, one summing of a divergence sends from a rank)."""
    import torch.distributed as dist

    from rldsl.backends.cluster.megatron import logprob

    most = {"gathered": 0, "reduced": 0}

    def all_gather(parts, own, group):
        most["gathered"] = max(most["gathered"], own.numel())
        return dist.all_gather(parts, own, group=group)

    def all_reduce(own, **more):
        most["reduced"] = max(most["reduced"], own.numel())
        return dist.all_reduce(own, **more)

    heads = SimpleNamespace(all_reduce=all_reduce, ReduceOp=dist.ReduceOp)
    states = SimpleNamespace(all_reduce=dist.all_reduce, all_gather=all_gather)
    with mock.patch.object(logprob, "dist", heads), mock.patch.object(divergence, "dist", states):
        rank.update(rows, parcel)
    return most["gathered"], most["reduced"]
