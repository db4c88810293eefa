"""Between Hugging Face tensor names and layouts and ours: fused projections, interleaved rotary pairs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

import torch
from torch import Tensor

from rldsl.backends.local.decoder.architecture import Architecture
from rldsl.backends.local.decoder.model import ADAPTED, Trunk
from rldsl.backends.local.decoder.numerics import Numerics
from rldsl.backends.local.decoder.rotary import interleave, split_halves

Read = Callable[[str], Tensor]
"""A tensor by its Hugging Face name; KeyError where there is none."""

VALUE, VALUE_HEAD = "value", "value_head.weight"
"""A critic's head [D] here, and [1, D] under this name in a file."""


def adopt(model: Trunk, read: Read) -> None:
    """Fill a policy or a critic with the tensors of a checkpoint.

    KeyError names a tensor that is not there, ValueError one of the wrong shape.
    """
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, sources in _sources(own, model.architecture):
            parts = [_turned(source, read(source), turn, model.architecture) for source, turn in sources]
            if len({part.shape[1:] for part in parts}) > 1:
                raise ValueError(f"{sources[0][0]} and what is stacked on it have different widths")
            found = torch.cat(parts)
            if found.shape != own[name].shape:
                raise ValueError(f"{sources[0][0]} makes {tuple(found.shape)}, not {tuple(own[name].shape)}")
            own[name].copy_(found)
        if VALUE in own:
            own[VALUE].copy_(read(VALUE_HEAD).view(-1))


def exported(model: Trunk, *, used: bool = False) -> dict[str, Tensor]:
    """All tensors under their Hugging Face names, float32, low-rank additions merged; with `used` they are rounded as
    the model computes with them. A tied head is left out, as save_pretrained does."""
    a, own, result, how = model.architecture, model.state_dict(), {}, model.numerics if used else Numerics()
    own |= {f"layers.{i}.{name}": how.rounded(layer.master(name)).detach() for i, layer in enumerate(model.layers)
            for name in ADAPTED}
    rows = {"q_proj": a.heads * a.head_width, "k_proj": a.kv_heads * a.head_width,
            "v_proj": a.kv_heads * a.head_width, "gate_proj": a.mlp, "up_proj": a.mlp}
    for name, sources in _sources(own, a):
        sizes = [rows[source.split(".")[-2]] for source, _ in sources] if len(sources) > 1 else [len(own[name])]
        for (source, turn), part in zip(sources, own[name].split(sizes), strict=True):
            result[source] = (split_halves(part, a.head_width) if turn else part).clone()
    if VALUE in own:
        result[VALUE_HEAD] = own[VALUE].view(1, -1).clone()
    return result


def _turned(name: str, tensor: Tensor, turn: bool, a: Architecture) -> Tensor:
    tensor = tensor.float()
    if turn and (not tensor.dim() or len(tensor) % a.head_width):
        raise ValueError(f"{name} is {tuple(tensor.shape)}, which is no whole number of heads of {a.head_width}")
    return interleave(tensor, a.head_width) if turn else tensor


def _sources(own: Container[str], a: Architecture) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Our name, and the Hugging Face tensors stacked in it, each with whether its head rows are re-paired."""
    yield "embed", [("model.embed_tokens.weight", False)]
    yield "norm", [("model.norm.weight", False)]
    if "head" in own:  # neither a tied one nor a critic's
        yield "head", [("lm_head.weight", False)]
    for index in range(a.layers):
        ours, theirs = f"layers.{index}.", f"model.layers.{index}."
        heads = [("q_proj", True), ("k_proj", True), ("v_proj", False)]
        yield ours + "norm_in", [(theirs + "input_layernorm.weight", False)]
        yield ours + "qkv", [(f"{theirs}self_attn.{head}.weight", turn) for head, turn in heads]
        if a.qkv_bias:
            yield ours + "qkv_bias", [(f"{theirs}self_attn.{head}.bias", turn) for head, turn in heads]
        if a.qk_norm:
            yield ours + "norm_q", [(theirs + "self_attn.q_norm.weight", True)]
            yield ours + "norm_k", [(theirs + "self_attn.k_norm.weight", True)]
        yield ours + "out", [(theirs + "self_attn.o_proj.weight", False)]
        yield ours + "norm_mlp", [(theirs + "post_attention_layernorm.weight", False)]
        yield ours + "gate_up", [(f"{theirs}mlp.{part}_proj.weight", False) for part in ("gate", "up")]
        yield ours + "down", [(theirs + "mlp.down_proj.weight", False)]
