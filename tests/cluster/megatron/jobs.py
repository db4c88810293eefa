"""What the ranks of a test do: each function runs in one process of a layout, with the same arguments in all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from rldsl.backends.cluster.parcel import Parcel
from rldsl.backends.cluster.rank import Rank, RankSpec
from rldsl.runtime.trajectory import Trajectory


def whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies of the tensors, to be sent."""
    return {name: tensor.clone() for name, tensor in tensors.items()}


def using(rank: int, address: str, spec: RankSpec, work: Callable[..., Any], *arguments: Any) -> Any:
    """`work(the rank, *arguments)` between joining and leaving."""
    found = Rank(spec, rank)
    found.join(address)
    try:
        return work(found, *arguments)
    finally:
        found.leave()


def trained(rank: Rank, rows: Sequence[Trajectory], parcels: Sequence[Parcel]) -> tuple[Any, Any]:
    """(weights after every update, tallies)."""
    tallies = [rank.update(rows, parcel) for parcel in parcels]
    return rank.export(whole), tallies


def measured(rank: Rank, policy: str, rows: Sequence[Trajectory], wants: Sequence[str], cutting: Any) -> Any:
    """This shard's part of the quantities."""
    return rank.logprobs(policy, rows, wants, cutting)


def round_trip(rank: Rank) -> dict[str, Tensor] | None:
    """The weights as they came."""
    return rank.export(whole)


def saved_and_loaded(rank: Rank, folder: Path, rows: Sequence[Trajectory], parcels: Sequence[Parcel]) -> Any:
    """(weights after all updates, weights after going back to the middle and doing the rest again)."""
    half = len(parcels) // 2
    for parcel in parcels[:half]:
        rank.update(rows, parcel)
    rank.save(folder)
    first = [rank.update(rows, p) for p in parcels[half:]] and rank.export(whole)
    rank.load(folder)
    return first, [rank.update(rows, p) for p in parcels[half:]] and rank.export(whole)


def logits(rank: Rank, ids: Tensor) -> Tensor:
    """Logits [b, s, V] of a causal forward, on one rank."""
    import torch

    from rldsl.backends.cluster import megatron_cpu

    held = rank.policy.held
    mask = ~torch.ones(1, 1, ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    with megatron_cpu.devices(), torch.no_grad():
        states = held.trunk(ids, torch.arange(ids.shape[1]).expand_as(ids), mask)
        return (states @ held.trunk.head.t()).transpose(0, 1)[..., :held.shape.dense.vocabulary].clone()
