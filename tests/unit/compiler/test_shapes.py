import json
from pathlib import Path

import pytest

from rldsl.compiler.device_memory import device_size
from rldsl.compiler.memory import amount
from rldsl.compiler.shapes import Parts, experts_of, parts, shape

HERE = Path(".")


@pytest.mark.parametrize("spec, billions", [("Qwen/Qwen2.5-32B", 32.76), ("Qwen/Qwen2.5-0.5B-Instruct", 0.494),
                                            ("meta-llama/Llama-3.1-8B", 8.03), ("HuggingFaceTB/SmolLM2-135M", 0.1345)])
def test_named_models_have_their_published_size(spec, billions):
    assert shape(spec, HERE).parameters / 1e9 == pytest.approx(billions, rel=0.002)


def test_a_toy_is_as_large_as_its_name_says():
    assert shape("toy:llama-2x64", HERE).layers == 2
    assert shape("toy:llama-4x128", HERE).parameters > shape("toy:llama-2x64", HERE).parameters


def test_a_folder_is_read_by_its_config(tmp_path):
    config = {"hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2,
              "intermediate_size": 4864, "vocab_size": 151936, "tie_word_embeddings": True,
              "max_position_embeddings": 32768}
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    assert shape("m", tmp_path) == shape("qwen2.5-0.5b", HERE)


@pytest.mark.parametrize("text", ["{}", "[]", "not json"])
def test_what_is_not_known_is_none(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    assert shape(".", tmp_path) is None
    assert shape("nobody/knows-9b", tmp_path) is None


def test_amounts_are_written_in_the_largest_unit():
    assert [amount(n) for n in (0, 999, 2_070_000, 65.5e9, 1.6e12)] == ["0 B", "999 B", "2.07 MB", "65.5 GB", "1.6 TB"]


@pytest.mark.parametrize("word", ["num_experts", "num_local_experts", "n_routed_experts"])
def test_experts_are_read_from_each_familys_word(tmp_path, word):
    (tmp_path / "config.json").write_text(json.dumps({word: 16, "hidden_size": 64}))
    assert experts_of(".", tmp_path) == 16 and shape(".", tmp_path) is None


def test_a_dense_model_and_an_unknown_one_have_no_experts():
    assert [experts_of(m, HERE) for m in ("toy:llama-2x64", "Qwen/Qwen2.5-7B", "nobody/knows", "a/Mixtral-8x7B")] == [
        0, 0, 0, 8]


def test_a_mixture_of_experts_says_its_heads_and_layers_though_its_parameters_are_not_counted(tmp_path):
    config = {"num_attention_heads": 32, "num_key_value_heads": 4, "num_hidden_layers": 48, "num_experts": 128}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert parts(".", tmp_path) == Parts(32, 4, 48, 128) and shape(".", tmp_path) is None
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": "48"}))
    assert parts(".", tmp_path) is None
    assert parts("toy:llama-2x64", HERE).experts == 0 and parts("a/Mixtral-8x7B", HERE) is None


@pytest.mark.parametrize("gpu, gib", [("H800-80GB", 80), ("H200 141 GB", 141), ("T4-16GiB", 16), ("L4", None),
                                      (None, None)])
def test_a_gpu_says_its_memory_in_its_name(gpu, gib):
    assert device_size(gpu) == (None if gib is None else gib * 2**30)
