"""RL404: sleeping engines keep their weights in the node's own memory, and it is too small.

On shared devices an engine gives its device memory to the trainer and keeps its weights on the host.
Source: vLLM's sleep mode, level 1: weights are offloaded to CPU memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..device_memory import shared_devices, sleeping
from ..facts import plural, said
from ..memory import amount
from ..recipe import Recipe

CODE = "RL404"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; a memory that is not written refuses nothing."""
    cluster, need = recipe.settings.cluster, sleeping(recipe)
    if cluster.host_memory is None or need is None or need <= cluster.host_memory:
        return
    fewer, shared = recipe.written("cluster.rollout_tensor"), shared_devices(recipe)
    engines = plural(shared // cluster.rollout_tensor or 1, "engine")
    yield clash(
        CODE, recipe, f"The sleeping engines of one node keep {amount(need)} of weights in its memory, which is "
        f"{amount(cluster.host_memory)}.",
        *([(fewer, "of so many GPUs each")] if fewer else []),
        (recipe.where("cluster.host_memory"), amount(cluster.host_memory)),
        (recipe.placement.span, "engines sleep while the trainer works"),
        (recipe.where("cluster.gpus_per_node"), f"{engines} on {plural(shared, 'GPU')}"),
        (recipe.where("model.policy"), "the model"),
        why=f"{said(recipe.placement)} gives the devices to the trainer, and each engine's weights wait on the host.",
        fix="Write a larger rollout_tensor, which makes fewer engines, or keep the roles on devices of their own.")
