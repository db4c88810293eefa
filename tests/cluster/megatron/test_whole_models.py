"""Models written whole, for a stage of a pipeline that begins with them: the same bits in any layout and backend."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from safetensors.torch import load_file

from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.cluster.training.parcel import packed
from rldsl.backends.local.formats.hf_folder import reader
from rldsl.backends.local.formats.hf_weights import adopt, exported
from rldsl.backends.local.training.forward import Critic

from . import jobs
from .updates import ADAMW, ADVANTAGE, SAMPLING, job, load, made_rows, objective, spec_of


def same(a, b) -> bool:
    return set(a) == set(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("layout", [Parallel(tensor=2), Parallel(pipeline=2)], ids=["tensor", "pipeline"])
@pytest.mark.parametrize("kind", ["llama", "qwen3_untied"])
def test_a_critic_goes_on_in_another_layout_and_in_one_process(processes, folders, tmp_path, layout, kind) -> None:
    made, rows = objective(target=ADVANTAGE), made_rows()
    parcels = [packed(job(made, rows, seed=s, critic=True)) for s in range(2)]
    spec = spec_of(layout, folders[kind], "float32", made, SAMPLING, ADAMW, critic=(ADAMW, 1))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    processes.run(2, jobs.using, spec, jobs.written, tmp_path / "first", rows, parcels)
    first = load_file(tmp_path / "first" / "critic.safetensors")
    assert float(first["value_head.weight"].abs().max()) > 0
    left = dataclasses.replace(spec.critic, weights=tmp_path / "first" / "critic.safetensors")
    other = dataclasses.replace(spec, parallel=Parallel(), critic=left)
    processes.run(1, jobs.using, other, jobs.written, tmp_path / "second", rows, [])
    assert same(first, load_file(tmp_path / "second" / "critic.safetensors"))
    policy = load(folders[kind])
    critic = Critic(policy)
    adopt(critic, reader(tmp_path / "first", "critic.safetensors"))
    assert same(first, exported(critic))
    adopt(policy, reader(tmp_path / "first", "policy.safetensors"))
    assert same(load_file(tmp_path / "first" / "policy.safetensors"), exported(policy))


def test_a_policy_that_stays_as_it_is_has_no_optimizer_and_is_written(processes, folders, tmp_path) -> None:
    made, rows = objective(target=ADVANTAGE), made_rows()
    update = dataclasses.replace(job(made, rows, critic=True), policy=False)
    spec = spec_of(Parallel(tensor=2), folders["llama"], "float32", made, SAMPLING, None, critic=(ADAMW, 1))
    processes.run(2, jobs.using, spec, jobs.written, tmp_path, rows, [packed(update)])
    assert same(load_file(tmp_path / "policy.safetensors"), exported(load(folders["llama"])))
    assert {f.name for f in tmp_path.glob("*.pt")} == {"critic.rank-0000.pt", "critic.rank-0001.pt"}
