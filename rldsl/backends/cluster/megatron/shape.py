"""The shape of a decoder as this backend reads it from config.json: a dense one, or one with experts (Qwen3-MoE)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rldsl.backends.local.decoder.architecture import Architecture, Llama3Scaling, from_config
from rldsl.backends.local.formats.hf_folder import read_config
from rldsl.diagnostics import Diagnostic, RecipeError

from .layout import Parallel

MOE = "qwen3_moe"
LLAMA3 = (1.0, 4.0, 8192)
"""(low, high, original) of the only frequency-dependent rotary scaling that Megatron computes."""


@dataclass(frozen=True)
class Experts:
    """`count` experts of hidden width `mlp`, `active` of them per token; `normed` scales the chosen weights to 1."""

    count: int
    active: int
    mlp: int
    normed: bool


@dataclass(frozen=True)
class Shape:
    """A decoder; `experts` None for a dense one."""

    kind: str
    dense: Architecture
    experts: Experts | None = None


def read_shape(folder: Path) -> Shape:
    """The shape of the model in a Hugging Face folder. RecipeError RL406, RL407 as `from_config`."""
    config = read_config(folder)
    kind = config.get("model_type")
    if kind != MOE:
        found = Shape(kind, from_config(config, str(folder)))
    else:
        _refuse_mixed(config, folder)
        dense = from_config({**config, "model_type": "qwen3"}, str(folder))
        found = Shape(kind, dense, Experts(_count(config, folder), int(config["num_experts_per_tok"]),
                                           int(config["moe_intermediate_size"]), bool(config["norm_topk_prob"])))
    scaling = found.dense.rope_llama3
    if scaling is not None and (scaling.low, scaling.high, scaling.original) != LLAMA3:
        raise _refused(folder, f"{_told(scaling)}: Megatron's are fixed at low 1, high 4, original 8192")
    return found


def require_fit(shape: Shape, parallel: Parallel, folder: Path) -> None:
    """RecipeError RL402 for heads, layers or experts that a layout cannot divide. The compiler says so before, where
    it knows the model."""
    a, experts = shape.dense, shape.experts
    divided = [("tensor", parallel.tensor, "attention heads", a.heads),
               ("pipeline", parallel.pipeline, "layers", a.layers)]
    if parallel.tensor % a.kv_heads:
        divided.append(("tensor", parallel.tensor, "key/value heads", a.kv_heads))
    if experts is not None or parallel.expert > 1:
        divided.append(("expert", parallel.expert, "experts", experts.count if experts else 0))
    for setting, size, what, number in divided:
        if number % size or not number:
            raise RecipeError([Diagnostic(
                "RL402", f"{folder} has {number} {what}, which {setting} {size} does not divide.",
                why="Every rank holds whole heads, layers or experts, and all ranks hold equally many.",
                fix=f"Write another {setting} in the cluster block.")])


def _count(config: Mapping, folder: Path) -> int:
    found = config.get("num_experts", config.get("num_local_experts"))
    if found is None or "num_experts_per_tok" not in config or "moe_intermediate_size" not in config:
        raise RecipeError([Diagnostic("RL407", f"{folder}: config.json does not say how many experts there are",
                                      fix="Use a complete model folder, as written by save_pretrained.")])
    return int(found)


def _refuse_mixed(config: Mapping, folder: Path) -> None:
    if config.get("decoder_sparse_step", 1) != 1 or config.get("mlp_only_layers"):
        raise _refused(folder, "some of its layers have experts and some have none")


def _told(s: Llama3Scaling) -> str:
    return f"its rotary factors are low {s.low:g}, high {s.high:g}, original {s.original}"


def _refused(folder: Path, reason: str) -> RecipeError:
    return RecipeError([Diagnostic(
        "RL406", f"{folder}: the cluster backend cannot run this model exactly: {reason}.",
        why="A forward that differs from the model's own would train another policy.",
        fix="Choose a Llama, Qwen2, Qwen3 or Qwen3-MoE model without it.")])
