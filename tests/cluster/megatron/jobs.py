"""What the ranks of a test do: each function runs in one process of a layout, with the same arguments in all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from rldsl.backends.cluster.training.parcel import Parcel
from rldsl.backends.cluster.training.rank import Rank, RankSpec
from rldsl.runtime.trajectory import Trajectory


def whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copies of the tensors, to be sent."""
    return {name: tensor.clone() for name, tensor in tensors.items()}


def using(rank: int, address: str, spec: RankSpec, work: Callable[..., Any], *arguments: Any) -> Any:
    """`work(the rank, *arguments)` between joining and leaving."""
    import torch.distributed as dist

    found = Rank(spec, rank)
    try:
        found.join(address)
        return work(found, *arguments)
    finally:
        if dist.is_initialized():
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


def valued(rank: Rank, rows: Sequence[Trajectory], parcels: Sequence[Parcel], cutting: Any) -> tuple[Any, Any, Any]:
    """(weights, tallies, this shard's part of the values) after every update."""
    return *trained(rank, rows, parcels), rank.values(rows, cutting)


def saved(rank: Rank, folder: Path, rows: Sequence[Trajectory], parcels: Sequence[Parcel]) -> Any:
    """The weights after all updates, with a checkpoint after the first half of them."""
    half = len(parcels) // 2
    for parcel in parcels[:half]:
        rank.update(rows, parcel)
    rank.save(folder)
    return trained(rank, rows, parcels[half:])[0]


def resumed(rank: Rank, folder: Path, rows: Sequence[Trajectory], parcels: Sequence[Parcel]) -> Any:
    """The weights after the second half of the updates, from the checkpoint."""
    rank.load(folder)
    return trained(rank, rows, parcels[len(parcels) // 2:])[0]


def refused(rank: Rank, rows: Sequence[Trajectory], parcel: Parcel) -> tuple[str, bool, bool]:
    """(what the update raised, whether no weight has changed, whether the rank can go on)."""
    from rldsl.runtime.errors import RunError

    before = [p.detach().clone() for p in rank.policy.held.trunk.parameters()]
    try:
        rank.update(rows, parcel)
    except RunError as error:
        said = str(error)
    same = all(bool((a == b).all()) for a, b in zip(before, rank.policy.held.trunk.parameters(), strict=True))
    return said, same, rank.export(whole) is not None or rank.number > 0


def logits(rank: Rank, ids: Tensor) -> Tensor:
    """Logits [b, s, V] of a causal forward, on one rank."""
    import torch

    from rldsl.backends.cluster.megatron import cpu

    held = rank.policy.held
    mask = ~torch.ones(1, 1, ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    with cpu.devices(), torch.no_grad():
        states = held.trunk(ids, torch.arange(ids.shape[1]).expand_as(ids), mask)
        return (states @ held.trunk.head.t()).transpose(0, 1)[..., :held.shape.dense.vocabulary].clone()


def watched(rank: Rank, rows: Sequence[Trajectory], chunk: int) -> dict[str, Any]:
    """What one update makes and sends: `logits`, the most numbers that leave the head at a time; `made`, the last
    dimensions of everything that is made; `sent_by_head`, the most numbers in one message of the statistics."""
    from types import SimpleNamespace
    from unittest import mock

    import torch.distributed as dist
    from torch.utils._python_dispatch import TorchDispatchMode

    from rldsl.backends.cluster.megatron import logprob
    from rldsl.backends.cluster.training.parcel import packed

    from .updates import job, objective

    seen: dict[str, Any] = {"logits": [], "made": set(), "sent_by_head": 0, "last": rank.place.last}

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if isinstance(out, Tensor) and out.dim():
                seen["made"].add(out.shape[-1])
            return out

    product = logprob.product

    def watched_product(*arguments):
        out = product(*arguments)
        seen["logits"] = [max([out.numel(), *seen["logits"]])]
        return out

    def watched_reduce(tensor, *arguments, **named):
        seen["sent_by_head"] = max(seen["sent_by_head"], tensor.numel())
        return dist.all_reduce(tensor, *arguments, **named)

    update = job(objective(regularisers=()), list(rows))
    with mock.patch.object(logprob, "CHUNK_LOGITS", chunk), \
            mock.patch.object(logprob, "product", watched_product), \
            mock.patch.object(logprob, "dist", SimpleNamespace(all_reduce=watched_reduce,
                                                                        ReduceOp=dist.ReduceOp)), Watch():
        rank.update(rows, packed(update))
    return seen


def saved_whole(rank: Rank, folder: Path, rows: Sequence[Trajectory], parcels: Sequence[Parcel]) -> Any:
    """As `saved`, in the form that any layout can read."""
    half = len(parcels) // 2
    for parcel in parcels[:half]:
        rank.update(rows, parcel)
    rank.save_whole(folder)
    return trained(rank, rows, parcels[half:])[0]


def begun_anew(rank: Rank, rows: Sequence[Trajectory], first: Parcel, second: Parcel) -> Any:
    """The weights after two updates with all moments forgotten between them."""
    rank.update(rows, first)
    rank.forget()
    return trained(rank, rows, [second])[0]


def written(rank: Rank, folder: Path, rows: Sequence[Trajectory], parcels: Sequence[Parcel]) -> None:
    """A checkpoint after all updates, with the models whole."""
    for parcel in parcels:
        rank.update(rows, parcel)
    rank.forget()
    rank.save(folder)
    rank.write(folder)


def sent_and_written(rank: Rank, folder: Path, rows: Sequence[Trajectory], parcel: Parcel) -> tuple[Any, Any]:
    """(what is sent to the engines before an update, its tally); the models are written whole after it."""
    sent = rank.export(whole)
    tally = rank.update(rows, parcel)
    rank.write(folder)
    return sent, tally
