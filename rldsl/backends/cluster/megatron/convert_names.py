"""Which Hugging Face tensors make which Megatron parameter, one table per architecture.

`{n}` is the layer counted over the whole model, `{e}` the expert counted over all ranks. The layout says how the parts
are merged and how the whole is cut for tensor parallelism: see `convert`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

EMBED, HEAD = "embedding.word_embeddings.weight", "output_layer.weight"


@dataclass(frozen=True)
class Rule:
    """`theirs` are stacked, in this order, to make one parameter that is cut as `layout` says."""

    theirs: tuple[str, ...]
    layout: str


def _rule(layout: str, *theirs: str) -> Rule:
    return Rule(theirs, layout)


_LAYER = "model.layers.{n}."
_ATTENTION, _EXPERT = _LAYER + "self_attn.", _LAYER + "mlp.experts.{e}."

_SHARED = {
    EMBED: _rule("vocabulary", "model.embed_tokens.weight"),
    HEAD: _rule("vocabulary", "lm_head.weight"),
    "decoder.final_layernorm.weight": _rule("whole", "model.norm.weight"),
    "layer.input_layernorm.weight": _rule("whole", _LAYER + "input_layernorm.weight"),
    "layer.pre_mlp_layernorm.weight": _rule("whole", _LAYER + "post_attention_layernorm.weight"),
    "layer.self_attention.linear_qkv.weight": _rule("heads", *(f"{_ATTENTION}{x}_proj.weight" for x in "qkv")),
    "layer.self_attention.linear_proj.weight": _rule("columns", _ATTENTION + "o_proj.weight"),
}
_MLP = {
    "layer.mlp.linear_fc1.weight": _rule("gated", *(f"{_LAYER}mlp.{x}_proj.weight" for x in ("gate", "up"))),
    "layer.mlp.linear_fc2.weight": _rule("columns", _LAYER + "mlp.down_proj.weight"),
}
_EXPERTS = {
    "layer.mlp.router.weight": _rule("whole", _LAYER + "mlp.gate.weight"),
    "layer.mlp.experts.linear_fc1.weight": _rule("expert_gated", _EXPERT + "gate_proj.weight",
                                                 _EXPERT + "up_proj.weight"),
    "layer.mlp.experts.linear_fc2.weight": _rule("expert", _EXPERT + "down_proj.weight"),
}
_BIAS = {"layer.self_attention.linear_qkv.bias": _rule("heads", *(f"{_ATTENTION}{x}_proj.bias" for x in "qkv"))}
_NORMS = {f"layer.self_attention.{x}_layernorm.weight": _rule("whole", f"{_ATTENTION}{x}_norm.weight") for x in "qk"}

TABLES = MappingProxyType({
    "llama": _SHARED | _MLP,
    "qwen2": _SHARED | _MLP | _BIAS,
    "qwen3": _SHARED | _MLP | _NORMS,
    "qwen3_moe": _SHARED | _EXPERTS | _NORMS,
})
"""{model_type of config.json: {Megatron's name, the layer's number taken out: rule}}."""


def located(name: str) -> tuple[str, int | None, int | None]:
    """A Megatron parameter name as (the table's key, the layer, the expert), both numbers as this rank counts."""
    layer = re.match(r"decoder\.layers\.(\d+)\.", name)
    if layer is None:
        return name, None, None
    rest = name[layer.end():]
    expert = re.match(r"mlp\.experts\.local_experts\.(\d+)\.", rest)
    if expert is None:
        return f"layer.{rest}", int(layer[1]), None
    return f"layer.mlp.experts.{rest[expert.end():]}", int(layer[1]), int(expert[1])
