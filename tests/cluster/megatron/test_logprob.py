"""Statistics over a spread vocabulary: equal to those of one piece, without logits that anyone gathers or keeps."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from rldsl.algebra.divergence import Divergence
from rldsl.backends.cluster.megatron import logprob
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.local.training.forward import forward
from rldsl.backends.local.training.logprob import token_statistics as embedded_statistics
from rldsl.compiler.objective import Named
from rldsl.diagnostics import RecipeError
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import SamplingOptions

from . import jobs
from .test_experts import column
from .updates import SAMPLING, SGD, load, made_rows, objective, spec_of

OPTIONS = SamplingOptions(0.7, 8)
ALONE = logprob.Vocabulary(None, 1, 0, 50, 50)


def inputs() -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(2)
    hidden, other = (torch.randn(23, 16, generator=generator, requires_grad=i == 0) for i in range(2))
    head, near = (torch.randn(50, 16, generator=generator, requires_grad=i == 0) for i in range(2))
    return hidden, head, torch.randint(0, 50, (23,), generator=generator), other, near


def both(ours: Any, theirs: Any) -> None:
    """Values and gradients of a weighted sum of all statistics agree."""
    weights = torch.randn(4, 23, generator=torch.Generator().manual_seed(4))
    results = []
    for compute in (ours, theirs):
        hidden, head, targets, other, near = inputs()
        found = compute(hidden, head, targets, other, near)
        sum((w * x).sum() for w, x in zip(weights, found, strict=True) if x is not None).backward()
        results.append((*(x for x in found if x is not None), hidden.grad, head.grad))
    for one, two in zip(*results, strict=True):
        assert float((one - two).abs().max()) < 1e-5 * max(1.0, float(two.abs().max()))


@pytest.mark.parametrize("options", [OPTIONS, SamplingOptions(1.0, 8, top_k=9), SamplingOptions(0.9, 8, top_p=0.8)])
@pytest.mark.parametrize("more", [False, True])
def test_one_rank_gives_the_statistics_of_the_embedded_backend(monkeypatch, options, more) -> None:
    monkeypatch.setattr(logprob, "CHUNK_LOGITS", 16 * 50)

    def ours(hidden, head, targets, other, near):
        return logprob.token_statistics(hidden, head, targets, ALONE, options, entropy=more,
                                                 squares=more, reference=(other, near) if more else None)

    def theirs(hidden, head, targets, other, near):
        return embedded_statistics(hidden, head, targets, options, entropy=more, squares=more,
                                   reference=(other, near) if more else None)

    both(ours, theirs)


def test_recorded_candidates_are_the_distribution() -> None:
    listed = torch.randint(0, 50, (23, 6), generator=torch.Generator().manual_seed(8))
    candidates = torch.cat([listed, inputs()[2].unsqueeze(1)], 1)

    def ours(hidden, head, targets, other, near):
        return logprob.token_statistics(hidden, head, targets, ALONE, OPTIONS, candidates=candidates,
                                                 entropy=True, squares=True, reference=(other, near))

    def theirs(hidden, head, targets, other, near):
        return embedded_statistics(hidden, head, targets, OPTIONS, candidates=candidates, entropy=True, squares=True,
                                   reference=(other, near))

    both(ours, theirs)


def test_a_wide_head_multiplies_in_float32() -> None:
    hidden, head, targets, *_ = inputs()
    half, small = hidden.detach().bfloat16(), head.detach().bfloat16()
    found = logprob.token_statistics(half, small, targets, ALONE, OPTIONS, wide=True).logp
    exact = logprob.token_statistics(half.float(), small.float(), targets, ALONE, OPTIONS).logp
    assert torch.equal(found, exact)
    assert not torch.equal(logprob.token_statistics(half, small, targets, ALONE, OPTIONS).logp, exact)


@pytest.mark.parametrize("kept", [False, True])
def test_two_ranks_give_the_statistics_of_one(processes, folders, kept) -> None:
    """C-082: log-probs do not depend on the layout."""
    rows = made_rows()
    if kept:
        generator = torch.Generator().manual_seed(6)
        rows = [dataclasses.replace(r, candidates=tuple(
            (t, *torch.randint(0, 97, (5,), generator=generator).tolist()) for t in r.tokens)) for r in rows]
    wants = ("logp_current", "entropy", "kl_exact", "squares")
    spec = spec_of(Parallel(tensor=2), folders["llama"], "float32", objective(), SAMPLING, SGD,
                    reference=folders["near"], align={"replay_candidates": True} if kept else {})
    answers = processes.run(2, jobs.using, spec, jobs.measured, "current", rows, wants, Cutting(24, True, True))
    theirs = forward(load(folders["llama"]), rows, frozenset(wants), SAMPLING, grad=False,
                     reference=load(folders["near"]))
    for name in wants:
        assert float((column(answers, rows, name) - theirs[name]).abs().max()) < 1e-4, name


@pytest.mark.parametrize("parallel", [Parallel(tensor=2), Parallel(pipeline=2)])
def test_logits_are_neither_gathered_nor_kept(processes, folders, parallel) -> None:
    """A forward and backward of 200 tokens: 16 rows of a rank's logits exist at a time, no message of the statistics
    is larger than the states, and nothing that is made has the vocabulary of all ranks as a dimension."""
    rows = [dataclasses.replace(r, tokens=(3,) * 100, logps=(0.0,) * 100, versions=(0,) * 100) for r in made_rows(2)]
    spec = spec_of(parallel, folders["llama"], "float32", objective(regularisers=()), SAMPLING, SGD)
    for seen in processes.run(2, jobs.using, spec, jobs.watched, rows, 16):
        own = 49 if parallel.tensor == 2 else 97
        assert seen["logits"] == ([16 * own] if seen["last"] else [])
        if parallel.tensor == 2:
            assert 97 not in seen["made"] and 98 not in seen["made"]
            assert 0 < seen["sent_by_head"] <= 200 * 64  # the states' gradient; the statistics are 2 × 200


def test_what_these_ranks_cannot_do_is_refused(folders) -> None:
    from rldsl.backends.cluster.training.rank import refuse

    spec = spec_of(Parallel(tensor=2), folders["llama"], "float32", objective(), SAMPLING, SGD)
    refuse(dataclasses.replace(spec, align={"replay_candidates": True}))
    with pytest.raises(RecipeError, match=r"RL406 .* alignment bit_equal"):
        refuse(dataclasses.replace(spec, align={"bit_equal": True}))
    compared = objective(regularisers=(Named("distance", -1.0 * Divergence("reverse_kl").variable),))
    with pytest.raises(RecipeError, match=r"RL406 .* the quantity divergence/reverse_kl"):
        refuse(spec_of(Parallel(tensor=2), folders["llama"], "float32", compared, SAMPLING, SGD))
