"""Hugging Face ↔ Megatron: a round trip returns every bit in every layout, and the logits are transformers' own."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from rldsl.backends.cluster.megatron.convert import cut, joined, merged, padded_vocabulary, separated
from rldsl.backends.cluster.megatron.layout import Parallel
from rldsl.backends.local.formats.toy import toy_architecture
from rldsl.diagnostics import RecipeError

from . import jobs
from .updates import SAMPLING, SGD, objective, spec_of

LAYOUTS = [Parallel(), Parallel(tensor=2), Parallel(pipeline=2), Parallel(data=2)]
EXPERT_LAYOUTS = [Parallel(), Parallel(expert=2, data=2), Parallel(pipeline=2), Parallel(tensor=2),
                  Parallel(tensor=2, expert=2)]


def named(p: Parallel) -> str:
    return f"tp{p.tensor}-pp{p.pipeline}-dp{p.data}-ep{p.expert}"


def returned(processes, folder, parallel: Parallel, dtype: str = "float32") -> dict[str, torch.Tensor]:
    spec = spec_of(parallel, folder, dtype, objective(), SAMPLING, SGD)
    answers = processes.run(parallel.ranks, jobs.using, spec, jobs.round_trip)
    assert all(answer is None for answer in answers[1:])
    return answers[0]


@pytest.mark.parametrize("parallel", LAYOUTS, ids=named)
@pytest.mark.parametrize("model", ["llama", "qwen2_untied", "qwen3"])
def test_every_bit_comes_back(processes, folders, model, parallel) -> None:
    theirs = load_file(folders[model] / "model.safetensors")
    found = returned(processes, folders[model], parallel)
    assert found.keys() == theirs.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in theirs.items())


@pytest.mark.parametrize("parallel", EXPERT_LAYOUTS, ids=named)
def test_every_bit_of_the_experts_comes_back(processes, moe, parallel) -> None:
    theirs = load_file(moe / "model.safetensors")
    found = returned(processes, moe, parallel)
    assert found.keys() == theirs.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in theirs.items())


@pytest.mark.parametrize("model", ["llama_untied", "qwen2", "qwen3_untied", "moe"])
def test_logits_are_those_of_transformers(processes, folders, moe, model) -> None:
    from transformers import AutoModelForCausalLM

    folder = moe if model == "moe" else folders[model]
    ids = torch.randint(0, 97, (3, 24), generator=torch.Generator().manual_seed(5))
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)(ids).logits.detach()
    spec = spec_of(Parallel(), folder, "float32", objective(), SAMPLING, SGD)
    ours = processes.run(1, jobs.using, spec, jobs.logits, ids)[0]
    assert float((ours - theirs).abs().max() / theirs.abs().max()) < 1e-5


def test_no_key_value_head_needs_to_be_there_for_every_rank() -> None:
    """Four query heads of one key/value head on two ranks: the whole is cut as it lies and joined again."""
    import dataclasses

    a = dataclasses.replace(toy_architecture("toy:llama-2x64"), kv_heads=1)
    q, k, v = torch.randn(a.heads * a.head_width, 64), torch.randn(a.head_width, 64), torch.randn(a.head_width, 64)
    whole = merged("heads", [q, k, v], a, 2)
    parts = [cut("heads", whole, 2, rank) for rank in range(2)]
    assert all(torch.equal(x, y) for x, y in zip(separated("heads", joined("heads", parts), a), [q, k, v], strict=True))


def test_the_vocabulary_is_padded_with_zeros_and_cut_again() -> None:
    a = toy_architecture("toy:llama-2x64")
    assert padded_vocabulary(97, 2) == 98 and padded_vocabulary(96, 2) == 96
    table = torch.randn(a.vocabulary, 8)
    whole = merged("vocabulary", [table], a, 7)
    assert len(whole) % 7 == 0 and not whole[a.vocabulary:].any()
    assert torch.equal(separated("vocabulary", whole, a)[0], table)


def test_a_folder_without_a_tensor_is_refused(processes, folders, tmp_path) -> None:
    from safetensors.torch import save_file

    tensors = load_file(folders["llama"] / "model.safetensors")
    del tensors["model.norm.weight"]
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text((folders["llama"] / "config.json").read_text())
    with pytest.raises(RecipeError, match=r"no tensor model\.norm\.weight"):
        returned(processes, tmp_path, Parallel())
