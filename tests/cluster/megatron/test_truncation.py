"""Steps on a truncated distribution, over recorded candidates and without: every layout takes the embedded backend's.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch

from rldsl.algebra.variables import ENTROPY, KL_EXACT
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.megatron.logprob import Vocabulary
from rldsl.backends.local.distribution import scaled
from rldsl.compiler.objective import Named
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.trajectory import SamplingOptions, Trajectory

from .test_layouts import compare, named
from .updates import CLIP, KL, SAMPLING, job, made_rows, objective

RANKS, WIDTH = 2, 50
CUTS = [SamplingOptions(1.0, 8, top_k=7), SamplingOptions(1.0, 8, top_k=60), SamplingOptions(1.0, 8, top_p=0.9),
        SamplingOptions(0.6, 8, top_p=0.5, top_k=20), SamplingOptions(1.0, 8, top_p=1e-6)]


def logits() -> torch.Tensor:
    """[28, 97]: sharp and flat, with many ties, all equal, with both zeros, and removed ones."""
    generator = torch.Generator().manual_seed(5)
    plain = torch.randn(20, 97, generator=generator) * torch.logspace(-2, 1.5, 20).unsqueeze(1)
    steps = torch.tensor([-0.0, 0.1, 0.5, 1, 3]).unsqueeze(1)
    tied = torch.randint(-2, 3, (5, 97), generator=generator).float() * steps
    far = torch.randn(2, 97, generator=generator) - torch.tensor([[1e30], [-80.0]])
    return torch.cat((plain, tied, far, torch.full((1, 97), 2.0)))


def cut_on(rank: int, address: str, given: torch.Tensor) -> list[tuple[torch.Tensor, int]]:
    """(which of this rank's tokens stay, numbers that one message holds at most) for each of CUTS."""
    import torch.distributed as dist

    from rldsl.backends.cluster.megatron import truncation

    host, _, port = address.rpartition(":")
    dist.init_process_group("gloo", store=dist.TCPStore(host, int(port)), rank=rank, world_size=RANKS)
    v, found = Vocabulary(None, RANKS, rank * WIDTH, WIDTH, given.shape[1]), []
    mine = torch.nn.functional.pad(given, (0, RANKS * WIDTH - given.shape[1]), value=-torch.inf)[:, v.first:][:, :WIDTH]
    with Spy(truncation) as spy:
        for options in CUTS:
            spy.most = 0
            cut = truncation.truncated(mine / options.temperature, options, v)
            found.append((cut > -torch.inf, spy.most))
    dist.destroy_process_group()
    return found


class Spy:
    """Counts the numbers of the largest message that a module sends."""

    def __init__(self, module) -> None:
        import torch.distributed as dist

        self.module, self.dist, self.most, self.ReduceOp = module, dist, 0, dist.ReduceOp

    def __enter__(self):
        self.module.dist = self
        return self

    def __exit__(self, *_) -> None:
        self.module.dist = self.dist

    def all_reduce(self, x, **more):
        self.most = max(self.most, x.numel())
        return self.dist.all_reduce(x, **more)

    def all_gather(self, each, x, **more):
        self.most = max(self.most, x.numel())
        return self.dist.all_gather(each, x, **more)


def test_two_ranks_keep_what_one_keeps(processes) -> None:
    """Ties with the last kept token too; sixteen numbers a token travel at most, or top_k."""
    given = logits()
    answers = processes.run(RANKS, cut_on, given)
    for number, options in enumerate(CUTS):
        kept = torch.cat([each[number][0] for each in answers], 1)[:, :97]
        assert torch.equal(kept, scaled(given, options) > -torch.inf), options
        assert 0 < kept.sum() < kept.numel()
        assert max(each[number][1] for each in answers) <= len(given) * max(15, min(options.top_k or 0, WIDTH))


def chosen_from(rows: list[Trajectory], few: int) -> list[Trajectory]:
    """The rows with a few recorded candidates beside each token, now and then none."""
    generator = torch.Generator().manual_seed(6)
    return [dataclasses.replace(r, candidates=tuple(
        (t, *torch.randint(0, 97, (int(n),), generator=generator).tolist())
        for t, n in zip(r.tokens, torch.randint(0, few, (len(r.tokens),), generator=generator), strict=True)))
        for r in rows]


@pytest.mark.parametrize("parallel", [Parallel(), Parallel(tensor=2), Parallel(pipeline=2)], ids=named)
@pytest.mark.parametrize(("cut", "recorded"), [({"top_p": 0.8}, True), ({"top_p": 0.8, "top_k": 50}, False)])
def test_the_gradient_is_that_of_the_embedded_backend(processes, folders, parallel, cut, recorded) -> None:
    """The log-prob's, the entropy's and the exact KL's, all over the same tokens."""
    made = objective(CLIP, (KL, Named("entropy", 0.3 * ENTROPY), Named("exact", -0.2 * KL_EXACT)))
    rows, sampling = made_rows(), dataclasses.replace(SAMPLING, **cut)
    rows = chosen_from(rows, 20) if recorded else rows
    update = job(made, rows, cutting=Cutting(24, True, True), wants=("logp_current", "entropy", "kl_exact"))
    ours, theirs, mine, its = compare(processes, parallel, folders["qwen3_untied"], made, [update], rows,
                                      sampling=sampling, reference=folders["near"])
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    assert float(ours.norm() / theirs.norm()) == pytest.approx(1, abs=1e-3)
    assert float(theirs.norm()) > 0
    for name, value in its[0].means().items():
        assert mine[0].means()[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name
