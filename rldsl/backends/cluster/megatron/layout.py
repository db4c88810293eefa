"""How ranks share one model: the sizes of tensor, pipeline, expert and data parallelism, and the groups they make."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

import torch

from rldsl.compiler.settings import Cluster
from rldsl.diagnostics import Diagnostic, RecipeError

TIMEOUT = timedelta(minutes=10)
"""How long a collective waits for a rank before it counts as dead."""


@dataclass(frozen=True)
class Parallel:
    """Sizes; their product without `expert` is the number of ranks. Experts are spread over tensor × data ranks."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    data: int = 1

    @property
    def ranks(self) -> int:
        """Processes in all."""
        return self.tensor * self.pipeline * self.data


def parallel(cluster: Cluster, ranks: int, role: str = "train") -> Parallel:
    """The layout that a `cluster` block gives to so many ranks of a role.

    RecipeError RL406 for context parallelism, RL401 where the sizes do not divide the ranks.
    """
    if cluster.context > 1:
        raise RecipeError([Diagnostic(
            "RL406", f"the cluster backend cannot run context: {cluster.context}",
            why="context parallelism needs attention kernels of TransformerEngine, which this backend does not use",
            fix="write context: 1, and a larger tensor or pipeline")])
    one = cluster.tensor * cluster.pipeline
    if ranks % one or ranks % (cluster.pipeline * cluster.expert):
        raise RecipeError([Diagnostic(
            "RL401", f"{ranks} ranks of the {role} role cannot be divided into tensor {cluster.tensor} × pipeline "
            f"{cluster.pipeline}, and pipeline {cluster.pipeline} × expert {cluster.expert}",
            why="Every rank holds one piece of a whole copy of the model.",
            fix=f"give the {role} role a multiple of {math.lcm(one, cluster.pipeline * cluster.expert)} ranks")])
    return Parallel(cluster.tensor, cluster.pipeline, cluster.expert, ranks // one)


def join(sizes: Parallel, rank: int, address: str) -> None:
    """Makes this process rank `rank` of the group that meets at `address` ("host:port", where somebody keeps a
    store), and sets up its groups."""
    import torch.distributed as dist
    from megatron.core import parallel_state as ps
    from megatron.core.tensor_parallel.random import initialize_rng_tracker

    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(rank % torch.cuda.device_count())
    host, _, port = address.rpartition(":")
    dist.init_process_group("nccl" if cuda else "gloo", store=dist.TCPStore(host, int(port), timeout=TIMEOUT),
                            rank=rank, world_size=sizes.ranks, timeout=TIMEOUT)
    ps.initialize_model_parallel(sizes.tensor, sizes.pipeline, expert_model_parallel_size=sizes.expert,
                                 expert_tensor_parallel_size=1, create_gloo_process_groups=cuda,
                                 distributed_timeout_minutes=int(TIMEOUT.total_seconds()) // 60)
    initialize_rng_tracker(inference_rng_tracker=True)


def leave() -> None:
    """Takes this process out of its groups."""
    import torch.distributed as dist
    from megatron.core import parallel_state as ps

    ps.destroy_model_parallel()
    dist.destroy_process_group()


@dataclass(frozen=True)
class Place:
    """Where this process stands in its layout."""

    rank: int
    tensor: int
    pipeline: int
    data: int
    expert: int
    first: bool
    last: bool

    @property
    def speaks(self) -> bool:
        """Whether results of its data-parallel shard come from here: one rank of the last stage."""
        return self.last and self.tensor == 0


def place() -> Place:
    """This process's place, once it has joined."""
    import torch.distributed as dist
    from megatron.core import parallel_state as ps

    return Place(dist.get_rank(), ps.get_tensor_model_parallel_rank(), ps.get_pipeline_model_parallel_rank(),
                 ps.get_data_parallel_rank(), ps.get_expert_model_parallel_rank(), ps.is_pipeline_first_stage(),
                 ps.is_pipeline_last_stage())
