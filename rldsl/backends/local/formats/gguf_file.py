"""GGUF files: quantised weights are expanded to float32 masters when loaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from rldsl.backends.local.decoder.architecture import from_config
from rldsl.backends.local.decoder.model import Policy
from rldsl.backends.local.decoder.rotary import split_halves
from rldsl.diagnostics import Diagnostic, RecipeError

from .hf_folder import missing_extra, unreadable
from .hf_tokenizer import folder_tokenizer
from .hf_weights import Read, adopt

_SIZES = {"vocab_size": "vocab_size", "hidden_size": "embedding_length", "intermediate_size": "feed_forward_length",
          "num_hidden_layers": "block_count", "num_attention_heads": "attention.head_count",
          "num_key_value_heads": "attention.head_count_kv", "head_dim": "attention.key_length",
          "max_position_embeddings": "context_length", "rms_norm_eps": "attention.layer_norm_rms_epsilon",
          "rope_theta": "rope.freq_base"}
_PARTS = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
          "self_attn.v_proj": "attn_v", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
          "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
          "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
_WHOLE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
          "lm_head.weight": "output.weight"}


def packaged_gguf(package: str) -> Path:
    """The one .gguf file that an installed Python package ships. RecipeError RL407 otherwise."""
    found = find_spec(package) if package.isidentifier() else None
    roots = list(found.submodule_search_locations or ()) if found else []
    files = sorted(file for root in roots for file in Path(root).rglob("*.gguf"))
    if len(files) != 1:
        state = "is not installed" if not found else f"ships {len(files)} .gguf files instead of one"
        raise RecipeError([Diagnostic(
            "RL407", f"The model 'gguf:{package}' cannot be found: the Python package {package!r} {state}.",
            fix="Install a package that ships one .gguf file, or give the file's path.")])
    return files[0]


def gguf_policy(file: Path, compute: torch.dtype) -> Policy:
    """The policy and tokenizer in one .gguf file. RecipeError RL407 if unreadable, RL406 if unsupported."""
    if not file.is_file():
        raise RecipeError([Diagnostic("RL407", f"There is no file {str(file)!r}.", fix="Check the path.")])
    try:
        from gguf import GGUFReader
    except ImportError:
        raise missing_extra("gguf") from None
    try:
        reader = GGUFReader(file)
    except (OSError, ValueError) as error:
        raise unreadable(file, f"it is not a GGUF file: {error}") from None
    config = gguf_config(reader)
    policy = Policy(from_config(config, str(file)), compute)
    try:
        adopt(policy, gguf_reader(reader, config))
    except (KeyError, ValueError) as error:
        raise unreadable(file, str(error.args[0])) from None
    policy.tokenizer = folder_tokenizer(file.parent, config, policy.architecture.vocabulary, gguf=file.name)
    return policy


def gguf_config(reader) -> dict:
    """The file's metadata in the words of config.json. Scaled rotary positions are left for the check to refuse."""
    def field(name: str):
        found = reader.get_field(name)
        return None if found is None else found.contents()

    kind = field("general.architecture")
    names = {tensor.name for tensor in reader.tensors}
    config = {ours: value for ours, key in _SIZES.items() if (value := field(f"{kind}.{key}")) is not None}
    config |= {"model_type": kind, "tie_word_embeddings": "output.weight" not in names,
               "eos_token_id": field("tokenizer.ggml.eos_token_id")}
    if "vocab_size" not in config:
        tokens = reader.get_field("tokenizer.ggml.tokens")
        config |= {} if tokens is None else {"vocab_size": len(tokens.data)}
    scaling = field(f"{kind}.rope.scaling.type")
    if "rope_freqs.weight" in names or scaling not in (None, "none"):
        config["rope_scaling"] = {"rope_type": scaling or "rope_freqs"}
    return config


def gguf_reader(reader, config: dict) -> Read:
    """Tensors of `reader` by Hugging Face name, float32."""
    from gguf import dequantize

    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def read(name: str) -> Tensor:
        theirs = _name(name)
        if theirs not in tensors:
            raise KeyError(f"no tensor {theirs}")
        found = tensors[theirs]
        values = torch.from_numpy(dequantize(found.data, found.tensor_type).copy())
        # llama.cpp stores the queries and keys of Llama with adjacent rotary pairs, those of Qwen in halves.
        turned = config["model_type"] == "llama" and theirs.split(".")[2:3] in (["attn_q"], ["attn_k"])
        heads = config["num_attention_heads" if "attn_q" in theirs else "num_key_value_heads"]
        return split_halves(values, values.shape[0] // heads) if turned else values

    return read


def _name(name: str) -> str:
    if name in _WHOLE:
        return _WHOLE[name]
    _, _, index, rest = name.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    return f"blk.{index}.{_PARTS[part]}.{kind}"
