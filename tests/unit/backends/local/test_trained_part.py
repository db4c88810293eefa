"""Training a part of a policy: some layers, or low-rank additions; everything else stays what it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from rldsl.axes.types import Band
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.decoder.trained_part import Part, chosen_layers, restrict
from rldsl.backends.local.formats.hf_weights import adopt, exported
from rldsl.backends.local.load import load_policy
from rldsl.compiler.settings import Optim
from rldsl.compiler.shapes import shape
from rldsl.compiler.trained_part import frozen_parameters, trained_parameters
from rldsl.diagnostics import RecipeError
from rldsl.runtime.executor import execute
from tests.learning.training import opened, train

RECIPE = """recipe r {
  feedback = similarity
  sampling = group(4, max_tokens: 4)
  advantage = group_mean
  ratio = token(current / old)
  gate = none + kl(0.01)
  reduction = token_mean
  distribution = on_policy
  system = sync on colocated
  model { policy: "toy:llama-3x32", dtype: float32, warm_start: 2 }
  data { train: "toy:copy", prompts: 4 }
  optim { adamw(lr: 1e-2), OPTIM }
  budget { steps: 3 }
}
"""


def moved(tmp_path, optim):
    """The names of the parameters that three batches changed, and those of gradients asked for."""
    with opened(tmp_path, RECIPE.replace("OPTIM", optim)) as run:
        policy = run.trainer.policy
        before = {n: p.detach().clone() for n, p in policy.named_parameters()}
        execute(run)
        return ({n for n, p in policy.named_parameters() if not torch.equal(p, before[n])},
                {n for n, p in policy.named_parameters() if p.requires_grad})


def test_only_the_chosen_layers_move(tmp_path):
    changed, wanted = moved(tmp_path, "layers: 40%..60%")
    assert changed == wanted and {n.rsplit(".", 1)[0] for n in changed} == {"layers.1"}


def test_only_the_additions_move(tmp_path):
    changed, wanted = moved(tmp_path, "lora_rank: 2, layers: 0..0.4")
    assert changed == wanted and all(n.startswith("layers.0.adapters.") for n in changed) and len(changed) == 8


@pytest.mark.parametrize("part, layers", [(Band(0.4, 0.6), [2]), (Band(0.0, 1.0), [0, 1, 2, 3, 4]),
                                          (None, [0, 1, 2, 3, 4]), (Band(0.5, 0.5), [2]), (Band(0.0, 0.3), [0, 1])])
def test_a_layer_is_chosen_by_its_middle(part, layers):
    assert chosen_layers(5, part) == layers


def test_a_part_without_a_layer_is_refused():
    with pytest.raises(RecipeError) as found:
        chosen_layers(2, Band(0.4, 0.6))
    assert found.value.diagnostics[0].code == "RL204" and "none of the 2 layers" in found.value.diagnostics[0].message


@pytest.mark.parametrize("layers, rank", [(None, None), (Band(0.4, 1.0), None), (None, 2), (Band(0.0, 0.4), 3)])
def test_what_is_trained_is_counted_without_weights(layers, rank):
    policy = load_policy("toy:llama-3x32", "float32", 0)[0]
    restrict(policy, Part(layers, rank), 0)
    counted, optim = shape("toy:llama-3x32", Path()), Optim(layers=layers, lora_rank=rank)
    wanted = {True: 0, False: 0}
    for parameter in policy.parameters():
        wanted[parameter.requires_grad] += parameter.numel()
    assert trained_parameters(counted, optim) == wanted[True]
    assert frozen_parameters(counted, optim) == wanted[False]


def test_an_addition_is_nothing_at_first_and_is_exported_merged():
    plain, adapted = (load_policy("toy:llama-2x32", "float32", 0)[0] for _ in range(2))
    restrict(adapted, Part(rank=3, alpha=6.0), 0)
    assert all(torch.equal(a, b) for a, b in zip(plain.weights().layers[0], adapted.weights().layers[0], strict=True)
               if a is not None)
    with torch.no_grad():
        adapted.layers[1].adapters["out_b"].normal_()
    own = adapted.layers[1]
    expected = own.out + 2.0 * own.adapters["out_b"] @ own.adapters["out_a"]
    assert torch.allclose(adapted.weights().layers[1].out, expected, atol=1e-6)
    again = Policy(plain.architecture)
    adopt(again, exported(adapted).__getitem__)
    assert torch.allclose(again.layers[1].out, expected, atol=1e-6)


def test_the_same_seed_draws_the_same_addition_and_a_run_repeats(tmp_path):
    text = RECIPE.replace("OPTIM", "lora_rank: 2")
    one, other = (train(tmp_path / name, text) for name in "ab")
    assert torch.equal(one.policy, other.policy)
