"""Megatron models that end in hidden states: log-probs and values are computed from them a few tokens at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from megatron.core import parallel_state as ps
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_block import TransformerBlockSubmodules, get_num_layers_to_build
from torch import Tensor, nn

from .convert import padded_vocabulary
from .linear import Column, Row
from .shape import Shape

VALUE = "output_layer.weight"
"""The critic's head, which Megatron's checkpoints expect by this name."""


class Norm(nn.RMSNorm):
    """RMS norm by torch; Megatron's wrapper of it refuses sequence parallelism, which only needs the mark."""

    def __init__(self, config: TransformerConfig, hidden_size: int, eps: float, **others: Any):
        super().__init__(hidden_size, eps=eps, dtype=config.params_dtype)
        self.weight.sequence_parallel = config.sequence_parallel


class Trunk(GPTModel):
    """A language model whose last stage gives the final normed states [s, b, D], not logits."""

    def _postprocess(self, hidden_states: Tensor, **others: Any) -> Tensor:
        if torch.is_grad_enabled() and not hidden_states.requires_grad:
            hidden_states.requires_grad_()  # a stage without anything to train, whose backward pass ends here
        return hidden_states

    @property
    def head(self) -> Tensor:
        """This rank's rows of the vocabulary's projection [V/tp, D]; on the last stage only."""
        tied = self.share_embeddings_and_output_weights
        return self.shared_embedding_or_output_weight() if tied else self.output_layer.weight


class CriticTrunk(Trunk):
    """A trunk with one value per position instead of a vocabulary."""

    def __init__(self, **arguments: Any):
        super().__init__(share_embeddings_and_output_weights=False, **arguments)
        if self.post_process:
            self.output_layer = nn.Linear(self.config.hidden_size, 1, bias=False, dtype=self.config.params_dtype)
            nn.init.zeros_(self.output_layer.weight)


def build(shape: Shape, dtype: torch.dtype, *, critic: bool = False) -> Trunk:
    """This rank's part of a model with random weights, on this rank's device."""
    a, tensor = shape.dense, ps.get_tensor_model_parallel_world_size()
    settings = config(shape, dtype)
    arguments = {
        "config": settings, "transformer_layer_spec": _layers(shape, settings),
        "vocab_size": padded_vocabulary(a.vocabulary, tensor), "max_sequence_length": a.context,
        "pre_process": ps.is_pipeline_first_stage(), "post_process": ps.is_pipeline_last_stage(),
        "position_embedding_type": "rope", "rotary_base": a.rope_theta, **_scaling(shape)}
    model = CriticTrunk(**arguments) if critic else Trunk(share_embeddings_and_output_weights=a.tied, **arguments)
    if tensor > 1 and ps.get_expert_model_parallel_world_size() == 1:
        _copied_experts(model)
    return model.to(torch.cuda.current_device())


def _copied_experts(model: Trunk) -> None:
    """Marks experts of which every tensor-parallel rank has a copy, and sees other tokens: gradients are summed over
    the ranks, as for norms, and count once in the norm. Megatron knows such copies only where experts are spread."""
    for layer in model.decoder.layers:
        for parameter in layer.mlp.experts.parameters() if hasattr(layer.mlp, "experts") else ():
            parameter.sequence_parallel, parameter.tensor_model_parallel = True, False


def _layers(shape: Shape, settings: TransformerConfig) -> TransformerBlockSubmodules:
    layer: ModuleSpec = get_gpt_layer_local_spec(
        num_experts=shape.experts and shape.experts.count, moe_grouped_gemm=False, qk_layernorm=shape.dense.qk_norm,
        normalization="RMSNorm")
    parts = layer.submodules
    parts.input_layernorm = parts.pre_mlp_layernorm = Norm
    mlp = parts.mlp.submodules if shape.experts is None else parts.mlp.submodules.experts.submodules
    attention = parts.self_attention.submodules
    attention.linear_qkv, attention.linear_proj, mlp.linear_fc1, mlp.linear_fc2 = Column, Row, Column, Row
    if shape.dense.qk_norm:
        attention.q_layernorm = attention.k_layernorm = Norm
    return TransformerBlockSubmodules([layer] * get_num_layers_to_build(settings), layer_norm=Norm)


def config(shape: Shape, dtype: torch.dtype) -> TransformerConfig:
    """Megatron's configuration of a shape: no dropout, no fusion, gradients as plain sums over tokens."""
    a, tensor = shape.dense, ps.get_tensor_model_parallel_world_size()
    experts = {} if shape.experts is None else _experts(shape)
    return TransformerConfig(
        num_layers=a.layers, hidden_size=a.width, num_attention_heads=a.heads, num_query_groups=a.kv_heads,
        kv_channels=a.head_width, ffn_hidden_size=a.mlp, layernorm_epsilon=a.norm_eps, normalization="RMSNorm",
        qk_layernorm=a.qk_norm, gated_linear_unit=True, activation_func=F.silu, add_bias_linear=False,
        add_qkv_bias=a.qkv_bias, hidden_dropout=0.0, attention_dropout=0.0, attention_softmax_in_fp32=True,
        params_dtype=dtype, pipeline_dtype=dtype, bf16=dtype == torch.bfloat16, use_cpu_initialization=True,
        tensor_model_parallel_size=tensor, pipeline_model_parallel_size=ps.get_pipeline_model_parallel_world_size(),
        expert_model_parallel_size=ps.get_expert_model_parallel_world_size(), expert_tensor_parallel_size=1,
        sequence_parallel=shape.experts is not None and tensor > 1,  # Megatron trains experts beside tensor only so
        calculate_per_token_loss=True, gradient_accumulation_fusion=False,
        bias_activation_fusion=False, masked_softmax_fusion=False, bias_dropout_fusion=False, apply_rope_fusion=False,
        **experts)


def _experts(shape: Shape) -> Mapping[str, Any]:
    e = shape.experts
    return {"num_moe_experts": e.count, "moe_router_topk": e.active, "moe_ffn_hidden_size": e.mlp,
            "moe_router_load_balancing_type": "none", "moe_router_pre_softmax": not e.normed,
            "moe_router_dtype": "fp32", "moe_token_dispatcher_type": "allgather", "moe_grouped_gemm": False,
            "moe_enable_routing_replay": True}


def _scaling(shape: Shape) -> Mapping[str, Any]:
    a = shape.dense
    if a.rope_llama3 is not None:
        return {"rope_scaling": True, "rope_scaling_factor": a.rope_llama3.factor}
    return {} if a.rope_factor == 1 else {"seq_len_interpolation_factor": a.rope_factor}
