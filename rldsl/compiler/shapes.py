"""Sizes of models, from what can be known without loading one: toy names, a folder's config.json, a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rldsl.diagnostics import RecipeError

from .toy_models import CONTEXT, PREFIX, VOCABULARY, toy_sizes


@dataclass(frozen=True)
class Shape:
    """Parameters, attention heads, and what a key-value cache is made of: layers × key/value heads × head width.

    `layer` is the parameters of one layer, `edges` the rows and columns of its four matrices, which is what one rank of
    additions to them has.
    """

    parameters: int
    layer: int
    edges: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    context: int | None = None


def shape(spec: str, base: Path) -> Shape | None:
    """The shape of a model, or None where nothing here says it. `base` is where relative folders start."""
    if spec.startswith(PREFIX):
        return _toy(spec)
    config = _config(spec, base)
    if config is not None:
        try:
            return from_config(config)
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            return None
    sizes = NAMED.get(_plain_name(spec))
    return _built(*sizes) if sizes else None


@dataclass(frozen=True)
class Parts:
    """What a layout divides. `experts` is 0 for a dense model and None where nothing says it."""

    heads: int
    kv_heads: int
    layers: int
    experts: int | None


def parts(spec: str, base: Path) -> Parts | None:
    """The parts of a model, or None where nothing here says its heads and layers. A mixture of experts in a folder
    says them too, though its parameters are not counted."""
    config, found = _config(spec, base), shape(spec, base)
    if found is not None:
        return Parts(found.heads, found.kv_heads, found.layers, 0)
    if config is None:
        return None
    heads, layers = config.get("num_attention_heads"), config.get("num_hidden_layers")
    kv = config.get("num_key_value_heads") or heads
    known = all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in (heads, kv, layers))
    return Parts(heads, kv, layers, experts_in(config) or None) if known else None


def context_of(policy: str, base: Path) -> tuple[int, str] | None:
    """A model's context in tokens and where that is known from; None, which refuses nothing, where it is not."""
    config = _config(policy, base)
    if config is not None:
        length = config.get("max_position_embeddings")
        known = isinstance(length, int) and not isinstance(length, bool) and length > 0
        return (length, f"{policy}/config.json") if known else None
    found = shape(policy, base)
    if found is None or found.context is None:
        return None
    return found.context, "toy models" if policy.startswith(PREFIX) else policy


EXPERTS = {"mixtral-8x7b": 8, "qwen3-30b-a3b": 128, "qwen3-235b-a22b": 128, "gpt-oss-20b": 32, "gpt-oss-120b": 128,
           "glm-5": 256, "deepseek-v4-pro": 384, "minimax-m1-40k": 32, "minimax-m2": 256, "hy3-preview": 192}
"""Routed experts of a layer, from each model's published config.json."""


def experts_of(policy: str, base: Path) -> int:
    """Routed experts in a layer of a mixture of experts; 0 for a dense model, and where nothing says it."""
    config = _config(policy, base)
    return experts_in(config) if config is not None else EXPERTS.get(_plain_name(policy), 0)


def experts_in(config: dict[str, Any]) -> int:
    """The same, from a config.json: each family has its own word for it."""
    found = [config.get(word) for word in ("num_experts", "num_local_experts", "n_routed_experts")]
    return next((n for n in found if isinstance(n, int) and not isinstance(n, bool) and n > 1), 0)


def _plain_name(spec: str) -> str:
    return spec.rpartition("/")[2].removesuffix("-Instruct").removesuffix("-Base").lower()


LARGEST_CONFIG = 1_000_000
"""Bytes; a longer config.json is not read."""


def _config(folder: str, base: Path) -> dict[str, Any] | None:
    """A model folder's own config.json; None where there is none that can be read."""
    try:
        path = base / Path(folder).expanduser() / "config.json"
        if path.stat().st_size > LARGEST_CONFIG:
            return None
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        return None
    return data if isinstance(data, dict) else None


def from_config(config: dict[str, Any]) -> Shape:
    """The shape that a Llama-family config.json describes. KeyError where it describes another family."""
    if experts_in(config):
        raise KeyError("a mixture of experts counts its parameters in another way")
    width, layers, heads = config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or heads
    head = config.get("head_dim") or width // heads
    return _built(width, layers, heads, kv, head, config["intermediate_size"], config["vocab_size"],
                  config.get("tie_word_embeddings", False), config.get("max_position_embeddings"))


def _built(width: int, layers: int, heads: int, kv: int, head: int, mlp: int, vocabulary: int, tied: bool,
           context: int | None) -> Shape:
    stacked = head * (heads + 2 * kv)
    layer = width * stacked + heads * head * width + 3 * width * mlp + 2 * width
    edges = (width + stacked) + (heads * head + width) + (width + 2 * mlp) + (mlp + width)
    parameters = layers * layer + (1 if tied else 2) * vocabulary * width + width
    return Shape(parameters, layer, edges, layers, heads, kv, head, vocabulary, context)


def _toy(spec: str) -> Shape | None:
    try:
        t = toy_sizes(spec)
    except RecipeError:
        return None
    return _built(t.width, t.layers, t.heads, t.kv_heads, t.head_width, 4 * t.width, VOCABULARY, True, CONTEXT)


# width, layers, heads, key/value heads, head width, MLP width, vocabulary, tied head, context: from each model's
# published config.json
NAMED: dict[str, tuple[int, int, int, int, int, int, int, bool, int]] = {
    "qwen2.5-0.5b": (896, 24, 14, 2, 64, 4864, 151936, True, 32768),
    "qwen2.5-1.5b": (1536, 28, 12, 2, 128, 8960, 151936, True, 32768),
    "qwen2.5-3b": (2048, 36, 16, 2, 128, 11008, 151936, True, 32768),
    "qwen2.5-7b": (3584, 28, 28, 4, 128, 18944, 152064, False, 131072),
    "qwen2.5-14b": (5120, 48, 40, 8, 128, 13824, 152064, False, 131072),
    "qwen2.5-32b": (5120, 64, 40, 8, 128, 27648, 152064, False, 131072),
    "qwen2.5-72b": (8192, 80, 64, 8, 128, 29568, 152064, False, 131072),
    "qwen2.5-math-7b": (3584, 28, 28, 4, 128, 18944, 152064, False, 4096),
    "qwen3-0.6b": (1024, 28, 16, 8, 128, 3072, 151936, True, 40960),
    "qwen3-1.7b": (2048, 28, 16, 8, 128, 6144, 151936, True, 40960),
    "qwen3-4b": (2560, 36, 32, 8, 128, 9728, 151936, True, 40960),
    "qwen3-8b": (4096, 36, 32, 8, 128, 12288, 151936, False, 40960),
    "qwen3-14b": (5120, 40, 40, 8, 128, 17408, 151936, False, 40960),
    "qwen3-32b": (5120, 64, 64, 8, 128, 25600, 151936, False, 40960),
    "llama-3.2-1b": (2048, 16, 32, 8, 64, 8192, 128256, True, 131072),
    "llama-3.2-3b": (3072, 28, 24, 8, 128, 8192, 128256, True, 131072),
    "llama-3.1-8b": (4096, 32, 32, 8, 128, 14336, 128256, False, 131072),
    "llama-3.1-70b": (8192, 80, 64, 8, 128, 28672, 128256, False, 131072),
    "smollm2-135m": (576, 30, 9, 3, 64, 1536, 49152, True, 8192),
    "smollm2-360m": (960, 32, 15, 5, 64, 2560, 49152, True, 8192),
    "smollm2-1.7b": (2048, 24, 32, 32, 64, 8192, 49152, True, 8192),
}
