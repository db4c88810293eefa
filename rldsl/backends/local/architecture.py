"""The shape of a Llama-family decoder, read from a Hugging Face `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...diagnostics import Diagnostic, RecipeError

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
    try:
        heads, width = int(config["num_attention_heads"]), int(config["hidden_size"])
        return Architecture(
            kind=kind, vocabulary=int(config["vocab_size"]), width=width, mlp=int(config["intermediate_size"]),
            layers=int(config["num_hidden_layers"]), heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_width=int(config.get("head_dim") or width // heads),
            context=int(config["max_position_embeddings"]), norm_eps=float(config.get("rms_norm_eps", 1e-6)),
            qkv_bias=bool(config.get("attention_bias", kind == "qwen2")), qk_norm=kind == "qwen3",
            tied=bool(config.get("tie_word_embeddings", False)), **_rope(config, where))
    except KeyError as missing:
        raise RecipeError([Diagnostic(
            "RL407", f"{where}: config.json has no {missing.args[0]}.",
            fix="Use a complete model folder, as written by save_pretrained.")]) from None


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
            fix="Choose a Llama, Qwen2 or Qwen3 model, or another backend.")])


def _rope(config: Mapping, where: str) -> dict:
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = float(scaling.get("rope_theta") or config.get("rope_theta") or 10000.0)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return {"rope_theta": theta}
    if kind == "linear":
        return {"rope_theta": theta, "rope_factor": float(scaling["factor"])}
    if kind == "llama3":
        return {"rope_theta": theta, "rope_llama3": Llama3Scaling(
            float(scaling["factor"]), float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"]),
            int(scaling["original_max_position_embeddings"]))}
    raise RecipeError([Diagnostic(
        "RL406", f"{where}: the local backend does not know the rotary scaling {kind!r}.",
        why="Wrong positions change every log-prob.", fix="Supported: default, linear, llama3.")])
