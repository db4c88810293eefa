"""Hugging Face model folders: config.json, safetensors and a tokenizer. Nothing else in them is read.

A folder's generation_config.json in particular is ignored: the recipe alone says how to sample.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from rldsl.backends.local.decoder.architecture import from_config
from rldsl.backends.local.decoder.model import Policy
from rldsl.diagnostics import Diagnostic, RecipeError

from .hf_tokenizer import folder_tokenizer
from .hf_weights import Read, adopt, exported


def folder_policy(folder: Path, compute: torch.dtype) -> Policy:
    """The policy in `folder`. RecipeError RL407 where a part is missing or unreadable, RL406 if unsupported."""
    config = read_config(folder)
    policy = Policy(from_config(config, str(folder)), compute)
    try:
        adopt(policy, reader(folder))
    except (KeyError, ValueError) as error:
        raise unreadable(folder, f"its weights do not fit its config.json: {error.args[0]}") from None
    policy.tokenizer = folder_tokenizer(folder, config, policy.architecture.vocabulary)
    return policy


def read_config(folder: Path) -> Mapping:
    """The folder's config.json. RecipeError RL407 where there is no folder or no such file."""
    if not folder.is_dir():
        raise RecipeError([Diagnostic(
            "RL407", f"There is no model folder {str(folder)!r}.",
            fix="Check the path; a folder needs config.json, *.safetensors and tokenizer.json.")])
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise unreadable(folder, "it has no config.json") from None
    except (OSError, ValueError) as error:
        raise unreadable(folder, f"its config.json cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise unreadable(folder, "its config.json is not an object")
    return config


def unreadable(where: Path | str, reason: str) -> RecipeError:
    """RL407 for a model that is there but cannot be used."""
    return RecipeError([Diagnostic(
        "RL407", f"The model {str(where)!r} cannot be loaded: {reason}.",
        fix="Use a complete folder as written by save_pretrained: config.json, *.safetensors, tokenizer.json.")])


def reader(folder: Path, files: str = "*.safetensors") -> Read:
    """Tensors of the folder's safetensors by name. RecipeError RL407 where there are none."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise missing_extra("safetensors") from None
    found = sorted(folder.glob(files))
    if not found:
        raise unreadable(folder, f"it has no {files} file")
    try:
        opened = [safe_open(file, framework="pt") for file in found]
    except (OSError, SafetensorError) as error:
        raise unreadable(folder, f"its weights cannot be read: {error}") from None
    places = {}
    for file in opened:
        places |= dict.fromkeys(file.keys(), file)

    def read(name: str) -> Tensor:
        if name not in places:
            raise KeyError(f"no tensor {name}")
        return places[name].get_tensor(name)

    return read


def missing_extra(package: str) -> RecipeError:
    """RL407: reading this model needs the optional dependencies."""
    return RecipeError([Diagnostic(
        "RL407", f"Reading Hugging Face models needs the package {package}, which is not installed.",
        fix='Install it with: pip install "rldsl[hf]"')])


def write_folder(policy: Policy, folder: Path) -> None:
    """Write `policy` as a Hugging Face folder (config.json, model.safetensors, the tokenizer if it has files)."""
    try:
        from safetensors.torch import save_file
    except ImportError:
        raise missing_extra("safetensors") from None
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.cpu().contiguous() for name, tensor in exported(policy).items()},
              folder / "model.safetensors", metadata={"format": "pt"})
    config = to_config(policy)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    save = getattr(policy.tokenizer, "save", None)
    if save is not None:
        save(folder)


def to_config(policy: Policy) -> dict:
    """The config.json of `policy`."""
    a = policy.architecture
    rope: dict = {"rope_type": "default", "rope_theta": a.rope_theta}
    if a.rope_factor != 1:
        rope |= {"rope_type": "linear", "factor": a.rope_factor}
    if a.rope_llama3 is not None:
        s = a.rope_llama3
        rope |= {"rope_type": "llama3", "factor": s.factor, "low_freq_factor": s.low,
                 "high_freq_factor": s.high, "original_max_position_embeddings": s.original}
    eos = sorted(policy.tokenizer.eos) if policy.tokenizer else []
    names = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
    return {"model_type": a.kind, "architectures": [names[a.kind]], "vocab_size": a.vocabulary,
            "hidden_size": a.width, "intermediate_size": a.mlp, "num_hidden_layers": a.layers,
            "num_attention_heads": a.heads, "num_key_value_heads": a.kv_heads, "head_dim": a.head_width,
            "max_position_embeddings": a.context, "rms_norm_eps": a.norm_eps, "hidden_act": "silu",
            "attention_bias": a.qkv_bias, "tie_word_embeddings": a.tied, "rope_theta": a.rope_theta,
            "rope_parameters": rope, "eos_token_id": eos[0] if len(eos) == 1 else eos, "dtype": "float32"}
