"""Loading: every spec form, and a diagnostic instead of a traceback where something is missing."""

from __future__ import annotations

import json
import sys

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from rldsl.backends.local.decoder.architecture import Architecture
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.formats.gguf_file import gguf_config, gguf_reader
from rldsl.backends.local.formats.hf_folder import folder_policy, write_folder
from rldsl.backends.local.formats.hf_weights import adopt
from rldsl.backends.local.formats.toy import toy_architecture
from rldsl.backends.local.load import load_policy
from rldsl.diagnostics import RecipeError


def code_and_text(caught):
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.fix
    return diagnostic.code, diagnostic.message


def filled(architecture, tokenizer=None):
    policy = Policy(architecture, torch.float32, tokenizer)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.normal_(generator=generator)
    return policy


@pytest.fixture
def folder(tmp_path):
    """A complete folder: a random Llama with a byte-level tokenizer that adds one BOS."""
    words = {"<s>": 0, "</s>": 1} | {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()), 2)}
    inner = Tokenizer(models.BPE(vocab=words, merges=[]))
    inner.add_special_tokens(["<s>", "</s>"])
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    write_folder(filled(Architecture("llama", 258, 16, 32, 2, 2, 1, 8, 128)), tmp_path)
    inner.save(str(tmp_path / "tokenizer.json"))
    template = "<s>{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "bos_token": "<s>",
         "chat_template": template}))
    return tmp_path


def test_toy_is_the_same_for_a_seed_and_another_for_another():
    first, again, other = (load_policy("toy:llama-2x64", "float32", seed)[0] for seed in (0, 0, 1))
    assert torch.equal(first.layers[1].down, again.layers[1].down)
    assert not torch.equal(first.layers[1].down, other.layers[1].down)
    assert abs(first.embed.std().item() - 0.02) < 1e-3
    assert first.architecture.context == 512


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_toy_kinds(kind):
    a = toy_architecture(f"toy:{kind}-4x128")
    assert (a.layers, a.width, a.heads * a.head_width) == (4, 128, 128)
    assert (a.qkv_bias, a.qk_norm) == (kind == "qwen2", kind == "qwen3")


def test_character_tokenizer_round_trip_and_unknown_character():
    _, tokenizer = load_policy("toy:llama-1x16", "float32", 0)
    text = "12 + 34 = ?\nYes, [a-z]!"
    assert tokenizer.decode((*tokenizer.encode(text), 0)) == text
    with pytest.raises(RecipeError) as caught:
        tokenizer.encode("naïve")
    code, message = code_and_text(caught)
    assert code == "RL407" and "'ï'" in message


@pytest.mark.parametrize("spec", ["toy:", "toy:gpt-2x64", "toy:llama-0x64", "toy:llama-2x65", "toy:llama-2x64x3"])
def test_unknown_toys_say_how_to_write_one(spec):
    with pytest.raises(RecipeError) as caught:
        load_policy(spec, "float32", 0)
    assert code_and_text(caught)[0] == "RL201"
    assert "toy:llama-2x64" in caught.value.diagnostics[0].fix


@pytest.mark.parametrize(("name", "dtype"), [("float32", torch.float32), ("fp32", torch.float32),
                                             ("bfloat16", torch.bfloat16), ("bf16", torch.bfloat16)])
def test_dtype_names(name, dtype):
    assert load_policy("toy:llama-1x16", name, 0)[0].compute == dtype


def test_unknown_dtype():
    with pytest.raises(RecipeError) as caught:
        load_policy("toy:llama-1x16", "float8", 0)
    assert code_and_text(caught)[0] == "RL203"


def test_bfloat16_keeps_float32_masters():
    policy, _ = load_policy("toy:llama-1x16", "bfloat16", 0)
    assert policy.embed.dtype == torch.float32 and policy.weights().layers[0].qkv.dtype == torch.bfloat16


def test_folder_round_trip(folder, tmp_path):
    policy, tokenizer = load_policy(str(folder), "float32", 0)
    assert tokenizer.eos == {1} and tokenizer.decode((*tokenizer.encode("häl-lo 1"), 1)) == "häl-lo 1"
    assert tokenizer.encode("a")[0] == 0 and tokenizer.encode("a")[1:].count(0) == 0
    write_folder(policy, tmp_path / "again")
    second = folder_policy(tmp_path / "again", torch.float32)
    assert second.architecture == policy.architecture and second.tokenizer.eos == {1}
    for (name, mine), theirs in zip(policy.named_parameters(), second.parameters(), strict=True):
        assert torch.equal(mine, theirs), name


def test_chat_template_writes_one_bos(folder):
    _, tokenizer = load_policy(str(folder), "float32", 0)
    ids = tokenizer.chat([{"role": "user", "content": "hi"}])
    assert ids.count(0) == 1 and tokenizer.decode(ids) == "[user]hi[assistant]"


def test_generation_defaults_of_a_folder_are_not_read(folder):
    (folder / "generation_config.json").write_text("{ not even json: temperature 0.1")
    policy, tokenizer = load_policy(str(folder), "float32", 0)
    assert tokenizer.eos == {1} and policy.tokenizer is tokenizer


def remove(name):
    return lambda folder: (folder / name).unlink()


def write(name, text):
    return lambda folder: (folder / name).write_text(text)


def edit(**changes):
    def damage(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(
            {k: v for k, v in (config | changes).items() if v is not None}))
    return damage


@pytest.mark.parametrize(("damage", "code", "says"), [
    (remove("config.json"), "RL407", "no config.json"),
    (write("config.json", "{"), "RL407", "config.json cannot be read"),
    (write("config.json", "[]"), "RL407", "not an object"),
    (edit(hidden_size=None), "RL407", "hidden_size"),
    (edit(num_hidden_layers=3), "RL407", "model.layers.2"),
    (edit(intermediate_size=40), "RL407", "(64, 16)"),
    (remove("model.safetensors"), "RL407", "*.safetensors"),
    (write("model.safetensors", "nonsense"), "RL407", "cannot be read"),
    (remove("tokenizer.json"), "RL407", "no tokenizer.json"),
    (write("tokenizer.json", "{}"), "RL407", "tokenizer"),
    (edit(model_type="gpt2"), "RL406", "gpt2"),
    (edit(hidden_act="gelu"), "RL406", "gelu"),
    (edit(use_sliding_window=True), "RL406", "sliding"),
    (edit(rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4}), "RL406", "yarn"),
])
def test_damaged_folders_get_a_diagnostic(folder, damage, code, says):
    damage(folder)
    with pytest.raises(RecipeError) as caught:
        load_policy(str(folder), "float32", 0)
    assert code_and_text(caught)[0] == code and says in code_and_text(caught)[1]


@pytest.mark.parametrize("spec", ["/no/such/folder", "./here", "x.gguf", "gguf:no_such_package", "gguf:a.b",
                                  "gguf:json"])
def test_missing_models_get_a_diagnostic(spec):
    with pytest.raises(RecipeError) as caught:
        load_policy(spec, "float32", 0)
    assert code_and_text(caught)[0] == "RL407"


def test_missing_optional_packages_are_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(RecipeError) as caught:
        load_policy(str(folder), "float32", 0)
    assert "safetensors" in code_and_text(caught)[1] and "rldsl[hf]" in caught.value.diagnostics[0].fix


def gguf_of(tmp_path, kind, policy):
    """A GGUF file as llama.cpp's converter writes it: Llama's queries and keys keep adjacent rotary pairs."""
    from gguf import GGUFReader, GGUFWriter

    from rldsl.backends.local.decoder.rotary import interleave
    from rldsl.backends.local.formats.gguf_file import _name
    from rldsl.backends.local.formats.hf_weights import exported

    a, file = policy.architecture, tmp_path / f"{kind}.gguf"
    writer = GGUFWriter(file, kind)
    writer.add_block_count(a.layers)
    writer.add_embedding_length(a.width)
    writer.add_feed_forward_length(a.mlp)
    writer.add_head_count(a.heads)
    writer.add_head_count_kv(a.kv_heads)
    writer.add_key_length(a.head_width)
    writer.add_context_length(a.context)
    writer.add_layer_norm_rms_eps(a.norm_eps)
    writer.add_rope_freq_base(a.rope_theta)
    writer.add_vocab_size(a.vocabulary)
    writer.add_eos_token_id(0)
    for name, tensor in exported(policy).items():
        if kind == "llama" and ("q_proj" in name or "k_proj" in name):
            tensor = interleave(tensor, a.head_width)
        writer.add_tensor(_name(name), tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return GGUFReader(file)


@pytest.mark.parametrize(("kind", "tied"), [("llama", True), ("qwen2", False), ("qwen3", True)])
def test_gguf_tensors_and_sizes(tmp_path, kind, tied):
    from rldsl.backends.local.decoder.architecture import from_config

    a = Architecture(kind, 40, 16, 32, 2, 4, 2, 8, 128, rope_theta=500.0, norm_eps=1e-5,
                     qkv_bias=kind == "qwen2", qk_norm=kind == "qwen3", tied=tied)
    policy = filled(a)
    reader = gguf_of(tmp_path, kind, policy)
    config = gguf_config(reader)
    found = from_config(config, "file")
    assert found.norm_eps == pytest.approx(1e-5) and config["eos_token_id"] == 0
    twin = Policy(found)
    adopt(twin, gguf_reader(reader, config))
    assert twin.architecture == Architecture(**{**a.__dict__, "norm_eps": found.norm_eps})
    for (name, mine), theirs in zip(policy.named_parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, theirs), name


def test_a_file_that_is_not_gguf(tmp_path):
    (tmp_path / "bad.gguf").write_bytes(b"nonsense and more nonsense")
    with pytest.raises(RecipeError) as caught:
        load_policy(str(tmp_path / "bad.gguf"), "float32", 0)
    assert code_and_text(caught)[0] == "RL407"
