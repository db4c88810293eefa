"""Hugging Face ↔ Megatron: each rank takes its own pieces of the checkpoint, and gives them back as whole tensors.

Nothing is computed on the way, so a round trip returns every bit. Source: the weight layouts of Megatron-core 0.16
(transformer/attention.py: query, key and value rows interleaved by key/value group; mlp.py: gate rows before up rows
on every rank) and of transformers' modeling files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor, nn

from rldsl.backends.local.decoder.architecture import Architecture
from rldsl.backends.local.formats.hf_folder import unreadable

from .convert_names import EMBED, HEAD, TABLES, Rule, located
from .shape import Shape

Read = Callable[[str], Tensor]
"""A tensor by its Hugging Face name; KeyError where there is none."""
NONE: Mapping[str, str] = MappingProxyType({})


def padded_vocabulary(size: int, tensor: int) -> int:
    """Rows of the embedding so that every tensor-parallel rank holds equally many; the added ones are zero."""
    return -(-size // tensor) * tensor


def adopt(model: nn.Module, shape: Shape, read: Read, ours: Mapping[str, str] = NONE) -> None:
    """Fills this rank's part of a model. Parameters in `ours` are whole on every rank, have the name that stands there,
    and stay as they are where nothing has it.

    KeyError names a tensor that is not there, ValueError one of the wrong shape.
    """
    from megatron.core import parallel_state as ps

    tensor = ps.get_tensor_model_parallel_world_size(), ps.get_tensor_model_parallel_rank()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in ours:
                _if_there(parameter, ours[name], read)
                continue
            rule, theirs = _sources(model, shape, name)
            whole = merged(rule.layout, [read(t) for t in theirs], shape.dense, tensor[0])
            part = cut(rule.layout, whole, *tensor)
            if part.shape != parameter.shape:
                raise ValueError(f"{theirs[0]} makes {tuple(part.shape)}, not {tuple(parameter.shape)}")
            parameter.copy_(part)


@torch.no_grad()
def exported(model: nn.Module, shape: Shape, ours: Mapping[str, str] = NONE, *,
             used: bool = False) -> dict[str, Tensor] | None:
    """Every tensor of the model under its Hugging Face name, on the CPU, low-rank additions merged: at rank 0; None
    elsewhere. With `used` it is rounded as the model computes with it.

    All ranks call it together. A tied head is left out, as save_pretrained does. `ours` as for `adopt`.
    """
    from megatron.core import parallel_state as ps

    from .linear import A, B, Column, Row

    found: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        place, _, leaf = name.rpartition(".")
        if leaf in (A, B) or (name == HEAD and shape.dense.tied and name not in ours):
            continue
        part, module = parameter.detach(), model.get_submodule(place)
        if leaf == "weight" and isinstance(module, (Column, Row)):
            part = module.used() if used else module.merged()
        for theirs, tensor in [(ours[name], part)] if name in ours else _gathered(model, shape, name, part):
            if ps.get_tensor_model_parallel_rank() == 0 and ps.get_data_parallel_rank() == 0:
                found[theirs] = tensor.cpu()
    return _over_stages(found)


def _if_there(parameter: Tensor, name: str, read: Read) -> None:
    try:
        parameter.copy_(read(name))
    except KeyError:
        return


def read_folder(folder: Path) -> Read:
    """Reads the tensors of a Hugging Face folder, or of one file, one at a time; experts are found fused too, as
    transformers 5 holds them in memory. RecipeError RL407 where there are none or they cannot be read."""
    from safetensors import SafetensorError, safe_open

    places = {}
    try:
        for file in [folder] if folder.is_file() else sorted(folder.glob("*.safetensors")):
            opened = safe_open(file, framework="pt")
            places |= dict.fromkeys(opened.keys(), opened)
    except (OSError, SafetensorError) as error:
        raise unreadable(folder, f"its weights cannot be read: {error}") from None
    if not places:
        raise unreadable(folder, "it has no *.safetensors file")

    def read(name: str) -> Tensor:
        if name not in places:
            raise KeyError(f"no tensor {name}")
        return places[name].get_tensor(name)

    return read


def merged(layout: str, parts: Sequence[Tensor], a: Architecture, ranks: int) -> Tensor:
    """The whole Megatron parameter from its Hugging Face tensors. ValueError where one has the wrong shape."""
    match layout:
        case "heads":
            groups = a.heads // a.kv_heads, 1, 1
            rows = [_viewed(p, a.kv_heads, each * a.head_width) for p, each in zip(parts, groups, strict=True)]
            return torch.cat(rows, 1).flatten(0, 1)
        case "gated" | "expert_gated":
            return torch.cat(list(parts))
        case "vocabulary":
            more = padded_vocabulary(a.vocabulary, ranks) - a.vocabulary
            return torch.nn.functional.pad(parts[0], (0, 0, 0, more))
    return parts[0]


def separated(layout: str, whole: Tensor, a: Architecture) -> list[Tensor]:
    """The inverse of `merged`."""
    match layout:
        case "heads":
            rows = [a.heads // a.kv_heads * a.head_width, a.head_width, a.head_width]
            parts = whole.view(a.kv_heads, sum(rows), *whole.shape[1:]).split(rows, 1)
            return [p.flatten(0, 1).contiguous() for p in parts]
        case "gated" | "expert_gated":
            return [p.contiguous() for p in whole.chunk(2)]
        case "vocabulary":
            return [whole[:a.vocabulary].contiguous()]
    return [whole]


def cut(layout: str, whole: Tensor, ranks: int, rank: int) -> Tensor:
    """One tensor-parallel rank's part of a whole parameter."""
    match layout:
        case "heads" | "vocabulary":
            return whole.chunk(ranks)[rank]
        case "columns":
            return whole.chunk(ranks, 1)[rank]
        case "gated":
            return torch.cat([half.chunk(ranks)[rank] for half in whole.chunk(2)])
    return whole


def joined(layout: str, parts: Sequence[Tensor]) -> Tensor:
    """The inverse of `cut`: the whole from the parts of all tensor-parallel ranks."""
    match layout:
        case "heads" | "vocabulary":
            return torch.cat(list(parts))
        case "columns":
            return torch.cat(list(parts), 1)
        case "gated":
            halves = [p.chunk(2) for p in parts]
            return torch.cat([half for side in zip(*halves, strict=True) for half in side])
    return parts[0]


def _viewed(part: Tensor, groups: int, rows: int) -> Tensor:
    if part.shape[0] != groups * rows:
        raise ValueError(f"{part.shape[0]} rows are not {groups} groups of {rows}")
    return part.view(groups, rows, *part.shape[1:])


def _sources(model: nn.Module, shape: Shape, name: str) -> tuple[Rule, list[str]]:
    """The rule for a parameter of this rank, and the names of its tensors with the numbers filled in."""
    from megatron.core import parallel_state as ps

    rule, layer, expert = _placed(model, shape, name)
    if expert is not None:
        expert += ps.get_expert_model_parallel_rank() * (
            shape.experts.count // ps.get_expert_model_parallel_world_size())
    theirs = [t.format(n=layer, e=expert) for t in rule.theirs]
    return rule, [TABLES[shape.kind][EMBED].theirs[0]] if name == HEAD and shape.dense.tied else theirs


def _placed(model: nn.Module, shape: Shape, name: str) -> tuple[Rule, int | None, int | None]:
    """(rule, layer of the whole model, expert of this rank)."""
    key, layer, expert = located(name)
    if layer is not None:
        layer = model.decoder.layers[layer].layer_number - 1
    return TABLES[shape.kind][key], layer, expert


def _gathered(model: nn.Module, shape: Shape, name: str, part: Tensor) -> Iterator[tuple[str, Tensor]]:
    """The Hugging Face tensors that a parameter makes together with the same one of the other ranks of its stage."""
    from megatron.core import parallel_state as ps

    rule, layer, expert = _placed(model, shape, name)
    if expert is None:
        parts = [part] if rule.layout == "whole" else _all(part, ps.get_tensor_model_parallel_group())
        wholes = [(None, joined(rule.layout, parts))]
    else:
        each = shape.experts.count // ps.get_expert_model_parallel_world_size()
        parts = _all(part, ps.get_expert_model_parallel_group())
        wholes = [(rank * each + expert, whole) for rank, whole in enumerate(parts)]
    for number, whole in wholes:
        pieces = separated(rule.layout, whole, shape.dense)
        for theirs, tensor in zip(rule.theirs, pieces, strict=True):
            yield theirs.format(n=layer, e=number), tensor


def _all(part: Tensor, group: object) -> list[Tensor]:
    import torch.distributed as dist

    parts = [torch.empty_like(part) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, part.contiguous(), group=group)
    return parts


def _over_stages(found: dict[str, Tensor]) -> dict[str, Tensor] | None:
    """What the first rank of each pipeline stage has found, together at rank 0; its pipeline group only."""
    import torch.distributed as dist
    from megatron.core import parallel_state as ps

    if ps.get_tensor_model_parallel_rank() or ps.get_data_parallel_rank():
        return None
    ranks = dist.get_process_group_ranks(ps.get_pipeline_model_parallel_group())
    if len(ranks) == 1:
        return found
    named = [{} for _ in ranks] if not ps.get_pipeline_model_parallel_rank() else None
    dist.gather_object({name: (t.shape, t.dtype) for name, t in found.items()}, named, dst=ranks[0],
                       group=ps.get_pipeline_model_parallel_group())
    device = torch.cuda.current_device() if torch.cuda.is_available() else "cpu"
    if named is None:
        for tensor in found.values():
            dist.send(tensor.to(device), ranks[0])
        return None
    for source, tensors in zip(ranks[1:], named[1:], strict=True):
        for name, (size, dtype) in tensors.items():
            received = torch.empty(size, dtype=dtype, device=device)
            dist.recv(received, source)
            found[name] = received.cpu()
    return found
