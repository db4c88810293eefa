"""Every layout takes the step of the embedded backend: the same gradient, the same weights after several steps."""

from __future__ import annotations

import pytest
import torch

from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.local.formats.hf_weights import exported
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tally import Tally

from . import jobs
from .updates import ADAMW, CLIP, SAMPLING, SEQUENCE, SGD, WHOLE, embedded, job, made_rows, objective, spec_of

LAYOUTS = [Parallel(), Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)]


def named(p: Parallel) -> str:
    return f"tp{p.tensor}-pp{p.pipeline}-dp{p.data}-ep{p.expert}"


def flat(tensors: dict) -> torch.Tensor:
    return torch.cat([tensors[name].double().flatten() for name in sorted(tensors)])


def compare(processes, parallel: Parallel, folder, made, updates, rows, optimizer=SGD, sampling=SAMPLING, **roles):
    """(change here, change in the embedded backend, our tally, its tally), over all updates."""
    engine = embedded(folder, made, optimizer, sampling=sampling, **roles)
    start = flat(exported(engine.policy))
    theirs = [engine.update(j) for j in updates]
    spec = spec_of(parallel, folder, "float32", made, sampling, optimizer, **roles)
    answers = processes.run(parallel.ranks, jobs.using, spec, jobs.trained, rows, [packed(j) for j in updates])
    ours = [Tally() for _ in updates]
    for _, tallies in answers:
        for mine, each in zip(ours, tallies, strict=True):
            mine.include(each or Tally())
    return flat(answers[0][0]) - start, flat(exported(engine.policy)) - start, ours, theirs


@pytest.mark.parametrize("parallel", LAYOUTS, ids=named)
@pytest.mark.parametrize(("model", "term"), [("llama", CLIP), ("qwen2_untied", SEQUENCE), ("qwen3", WHOLE)])
def test_the_gradient_is_that_of_the_embedded_backend(processes, folders, parallel, model, term) -> None:
    """C-004, C-048: one total over the whole update. C-082: whoever holds which part."""
    made, rows = objective(term), made_rows()
    update = job(made, rows, cutting=Cutting(24, True, True))
    ours, theirs, mine, its = compare(processes, parallel, folders[model], made, [update], rows)
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    assert float(ours.norm() / theirs.norm()) == pytest.approx(1, abs=1e-3)
    assert set(mine[0].means()) == set(its[0].means())
    for name, value in its[0].means().items():
        assert mine[0].means()[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name


def test_a_key_value_head_may_be_on_two_ranks(processes, folders) -> None:
    made, rows = objective(), made_rows()
    update = [job(made, rows)]
    ours, theirs, *_ = compare(processes, Parallel(tensor=2), folders["one_key"], made, update, rows)
    assert float(torch.cosine_similarity(ours, theirs, 0)) > 0.9999
    assert float(ours.norm() / theirs.norm()) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("parallel", LAYOUTS, ids=named)
def test_three_steps_of_adam_are_those_of_the_embedded_backend(processes, folders, parallel) -> None:
    made, rows = objective(), made_rows()
    updates = [job(made, rows, seed=s, lr_factor=0.5 + s) for s in range(3)]
    ours, theirs, mine, its = compare(processes, parallel, folders["llama"], made, updates, rows, ADAMW)
    assert float((ours - theirs).abs().max()) < 1e-5
    for one, other in zip(mine, its, strict=True):
        assert one.means()["grad_norm"] == pytest.approx(other.means()["grad_norm"], rel=1e-4)
