"""Model folders that are broken in one way each: what is missing or wrong is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from rldsl.backends.local.decoder.architecture import Architecture
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.hf_folder import write_folder
from rldsl.compiler.plan import read_plan

from .answers import call, civil, refused

RUN = ["run", "tiny.rl", "--out", "here", "--set", 'model.policy="./model"', "--set", "budget.steps=1"]
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"


@pytest.fixture
def model(project: Path) -> Path:
    """A complete folder: a random Llama of two layers that reads bytes."""
    words = {"</s>": 0} | {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()), 1)}
    inner = Tokenizer(models.BPE(vocab=words, merges=[]))
    inner.add_special_tokens(["</s>"])
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    policy = Policy(Architecture("llama", 257, 16, 32, 2, 2, 1, 8, 128), torch.float32, None)
    with torch.no_grad():
        for index, parameter in enumerate(policy.parameters()):
            parameter.normal_(std=0.1, generator=torch.Generator().manual_seed(index))
    folder = project / "model"
    write_folder(policy, folder)
    inner.save(str(folder / TOKENIZER))
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return folder


def gone(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def holds(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def config(**changes) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        found = json.loads((folder / CONFIG).read_text())
        (folder / CONFIG).write_text(json.dumps({**found, **changes}))
    return change


def cut(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:2000])


BROKEN = {
    "no tokenizer": (gone(TOKENIZER), "RL407", "there is no tokenizer.json"),
    "no config": (gone(CONFIG), "RL407", "it has no config.json"),
    "no weights": (gone(WEIGHTS), "RL407", "it has no *.safetensors"),
    "half the weights": (cut, "RL407", "its weights cannot be read"),
    "junk for weights": (holds(WEIGHTS, b"junk" * 99), "RL407", "its weights cannot be read"),
    "an empty file for weights": (holds(WEIGHTS, b""), "RL407", "its weights cannot be read"),
    "broken tokenizer": (holds(TOKENIZER, b'{"half'), "RL407", "tokenizer"),
    "broken config": (holds(CONFIG, b'{"half'), "RL407", "config.json cannot be read"),
    "binary config": (holds(CONFIG, b"\xff\xfe\0"), "RL407", "config.json cannot be read"),
    "a list for a config": (holds(CONFIG, b"[1]"), "RL407", "config.json is not an object"),
    "an unknown architecture": (config(model_type="mamba"), "RL406", "'mamba' is not one of llama, qwen2, qwen3"),
    "an unknown rotary scaling": (config(rope_parameters={"rope_type": "yarn"}), "RL406", "'yarn'"),
    "a word for rotary scaling": (config(rope_parameters="yarn"), "RL407", "rotary parameters"),
    "no size": (config(hidden_size=None), "RL407", "config.json has no hidden_size"),
    "a word for a size": (config(hidden_size="wide"), "RL407", 'hidden_size in config.json is "wide"'),
    "a negative size": (config(num_hidden_layers=-1), "RL407", "num_hidden_layers is -1"),
    "an odd head": (config(head_dim=7), "RL407", "a head_dim of 7 must be even"),
    "another head": (config(head_dim=6), "RL407", "no whole number of heads of 6"),
    "heads that cannot share": (config(num_key_value_heads=3), "RL407", "3 key-value heads must divide 2"),
    "another size": (config(hidden_size=24), "RL407", "do not fit its config.json"),
    "one layer more": (config(num_hidden_layers=3), "RL407", "no tensor model.layers.2"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_model_folder(model: Path, capsys, kind: str) -> None:
    break_it, code, says = BROKEN[kind]
    break_it(model)
    refused(capsys, 4, code, "model", says, "--set:1:14", argv=RUN)
    assert not Path("here").exists()


def test_a_whole_folder_trains_and_its_generation_config_is_not_read(model: Path, capsys) -> None:
    """C-020: what the recipe leaves unset is off, whatever the folder says."""
    (model / "generation_config.json").write_text('{"top_k": 20, "top_p": 0.5, "temperature": 0.6, "max_length": 1}')
    answer = call(capsys, *RUN)
    civil(answer)
    assert answer.code == 0
    options = read_plan(Path("here/plan.json")).graph.of("sample")[0].options
    assert (options["temperature"], options["top_k"], options["top_p"]) == (1.0, None, None)


def test_weights_that_are_not_numbers_stop_the_first_batch(model: Path, capsys) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / WEIGHTS)
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, model / WEIGHTS, metadata={"format": "pt"})
    refused(capsys, 3, "RL601", "not finite in 32 of 32 responses (stage: sample)", argv=RUN)


def test_a_folder_that_is_not_there(project: Path, capsys) -> None:
    refused(capsys, 4, "RL407", "no model folder", "--set:1:14", argv=RUN)


def test_a_path_is_relative_to_the_project_wherever_the_command_is_called(model: Path, capsys, monkeypatch) -> None:
    (model.parent / "below").mkdir()
    monkeypatch.chdir(model.parent / "below")
    answer = call(capsys, "run", "../tiny.rl", *RUN[2:])
    assert answer.code == 0, answer.text


def test_a_reference_with_other_tokens(model: Path, capsys) -> None:
    sets = ["--set", "gate=clip(0.2) + kl(0.1)", "--set", 'model.reference="./model"']
    refused(capsys, 4, "RL407", "257 token ids, the policy 97", argv=["run", "tiny.rl", "--out", "here", *sets])
    assert not Path("here").exists()
