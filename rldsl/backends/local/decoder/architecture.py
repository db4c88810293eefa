"""The shape of a Llama-family decoder, read from a Hugging Face `config.json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from rldsl.diagnostics import Diagnostic, RecipeError

KINDS = ("llama", "qwen2", "qwen3")


@dataclass(frozen=True)
class Llama3Scaling:
    """Frequency-dependent stretching of rotary wavelengths (Llama 3.1); `original` is in tokens."""

    factor: float
    low: float
    high: float
    original: int


@dataclass(frozen=True)
class Architecture:
    """Sizes and switches of one decoder. Widths are features, `context` is tokens."""

    kind: str
    vocabulary: int
    width: int
    mlp: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    context: int
    norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_factor: float = 1.0
    rope_llama3: Llama3Scaling | None = None
    qkv_bias: bool = False
    qk_norm: bool = False
    tied: bool = True

    @property
    def qkv_heads(self) -> int:
        """Heads in the fused projection: queries, keys and values."""
        return self.heads + 2 * self.kv_heads


def from_config(config: Mapping, where: str) -> Architecture:
    """The architecture that a Hugging Face config describes.

    Raises RecipeError RL406 for a decoder this backend cannot run exactly, RL407 where sizes are missing.
    """
    kind = config.get("model_type")
    _refuse_unsupported(config, kind, where)
    heads, width = _size(config, "num_attention_heads", where), _size(config, "hidden_size", where)
    found = Architecture(
        kind=kind, vocabulary=_size(config, "vocab_size", where), width=width,
        mlp=_size(config, "intermediate_size", where), layers=_size(config, "num_hidden_layers", where), heads=heads,
        kv_heads=_size(config, "num_key_value_heads", where, heads),
        head_width=_size(config, "head_dim", where, width // heads),
        context=_size(config, "max_position_embeddings", where), norm_eps=_real(config, "rms_norm_eps", where, 1e-6),
        qkv_bias=bool(config.get("attention_bias", kind == "qwen2")), qk_norm=kind == "qwen3",
        tied=bool(config.get("tie_word_embeddings", False)), **_rope(config, where))
    if found.head_width % 2 or found.heads % found.kv_heads:
        raise _unusable(where, f"a head_dim of {found.head_width} must be even, and {found.kv_heads} key-value heads "
                               f"must divide {found.heads} heads")
    return found


def _size(config: Mapping, name: str, where: str, default: int | None = None) -> int:
    value = _real(config, name, where, default)
    if value < 1 or value != int(value):
        raise _unusable(where, f"{name} is {value:g}, which is no size")
    return int(value)


def _real(config: Mapping, name: str, where: str, default: float | None = None) -> float:
    """A finite number of the config. RecipeError RL407 where it is missing or none."""
    value = config.get(name)
    if value is None:
        value = default
    if value is None:
        raise _unusable(where, f"config.json has no {name}")
    if isinstance(value, (str, bool, list, dict)) or not math.isfinite(value):
        raise _unusable(where, f"{name} in config.json is {json.dumps(value)}, which is not a number")
    return float(value)


def _unusable(where: str, reason: str) -> RecipeError:
    return RecipeError([Diagnostic("RL407", f"{where}: {reason}.",
                                   fix="Use a complete model folder, as written by save_pretrained.")])


def _refuse_unsupported(config: Mapping, kind: object, where: str) -> None:
    reasons = []
    if kind not in KINDS:
        reasons.append(f"model type {kind!r} is not one of {', '.join(KINDS)}")
    if config.get("use_sliding_window"):
        reasons.append("it uses sliding-window attention")
    if config.get("mlp_bias") or (kind == "llama" and config.get("attention_bias")):
        reasons.append("it has biases outside query, key and value")
    if config.get("hidden_act", "silu") != "silu":
        reasons.append(f"its activation is {config['hidden_act']}, not silu")
    if config.get("partial_rotary_factor", 1.0) != 1.0:
        reasons.append("it rotates only a part of each head")
    if reasons:
        raise RecipeError([Diagnostic(
            "RL406", f"{where}: the local backend cannot run this model exactly: {'; '.join(reasons)}.",
            why="A forward that differs from the model's own would train another policy.",
            fix="Choose a Llama, Qwen2 or Qwen3 model without these.")])


def _rope(config: Mapping, where: str) -> dict:
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(scaling, Mapping):
        raise _unusable(where, "its rotary parameters in config.json are not an object")
    theta = _real({"rope_theta": scaling.get("rope_theta") or config.get("rope_theta")}, "rope_theta", where, 10000.0)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return {"rope_theta": theta}
    if kind == "linear":
        return {"rope_theta": theta, "rope_factor": _real(scaling, "factor", where)}
    if kind == "llama3":
        return {"rope_theta": theta, "rope_llama3": Llama3Scaling(
            *(_real(scaling, name, where) for name in ("factor", "low_freq_factor", "high_freq_factor")),
            _size(scaling, "original_max_position_embeddings", where))}
    raise RecipeError([Diagnostic(
        "RL406", f"{where}: the local backend does not know the rotary scaling {kind!r}.",
        why="Wrong positions change every log-prob.", fix="Supported: default, linear, llama3.")])
