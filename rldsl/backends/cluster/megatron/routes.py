"""The experts that a rollout chose, chosen again: Megatron's router replay, layer by layer.

Weights of the chosen experts still come from the live router, so that it learns. Source: routing replay as in
arXiv:2510.11370; Megatron-core's transformer/moe/router_replay.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from megatron.core import parallel_state as ps
from megatron.core.transformer.moe.router_replay import RouterReplay, RouterReplayAction
from torch import Tensor

from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError
from rldsl.runtime.trajectory import Trajectory

from .model import Trunk
from .pack import Packed


def replayed(trunk: Trunk, rows: Sequence[Trajectory], packed: Packed) -> None:
    """Sets what the routers of one forward choose: what the rows carry, or, where none carries it, their own choice."""
    routers = {layer.layer_number - 1: layer.mlp.router.router_replay for layer in trunk.decoder.layers
               if hasattr(layer.mlp, "router")}
    told = any(len(row.routes) for row in rows)
    for layer, router in routers.items():
        router.clear_indices()
        router.clear_router_replay_action()
        if told:
            router.set_target_indices(_chosen(trunk, rows, packed, layer))
            router.set_router_replay_action(RouterReplayAction.REPLAY_FORWARD)


def require_whole(rows: Sequence[Trajectory]) -> None:
    """RunError RL617, the same on every rank, for a row whose experts do not cover its computed tokens, where some row
    carries any."""
    for row in rows if any(len(row.routes) for row in rows) else ():
        computed = len(row.prompt) + max(len(row.tokens) - 1, 0)
        if len(row.routes) != computed:
            raise RunError(Diagnostic(
                "RL617", f"response {row.group}.{row.sibling} came with experts for {len(row.routes)} of its "
                f"{computed} computed tokens", why="its log-probs cannot be those of the experts that sampled it",
                fix="this is a defect of the engine that sampled; report it with the journal"))


def _chosen(trunk: Trunk, rows: Sequence[Trajectory], packed: Packed, layer: int) -> Tensor:
    """Experts [tokens of this rank, k] of one layer, in the router's order: position first, then bin. Padding goes to
    the first k experts."""
    active, (bins, width) = trunk.config.moe_router_topk, packed.ids.shape
    experts = torch.arange(active).repeat(bins * width, 1)
    for row, first in zip(rows, packed.places, strict=True):
        experts[first:first + len(row.routes)] = torch.as_tensor(row.routes)[:, layer]
    experts = experts.view(bins, width, active).transpose(0, 1)
    if trunk.config.sequence_parallel:
        experts = experts.chunk(ps.get_tensor_model_parallel_world_size())[ps.get_tensor_model_parallel_rank()]
    return experts.reshape(-1, active).to(packed.ids.device)


def forget() -> None:
    """Empties Megatron's list of all routers of the process, which it only ever adds to."""
    RouterReplay.clear_global_router_replay_instances()
