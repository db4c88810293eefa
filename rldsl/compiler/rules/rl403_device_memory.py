"""RL403: a phase that needs more memory than its device has, however it is laid out.

The counts are lower bounds: fully sharded training, the cache of one response, nothing for activations. A GPU or model
whose size is not known refuses nothing.
Source: ZeRO (arXiv:1910.02054), section 3.1, for weights, gradients and optimizer; the rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..device_memory import Phase, device_size, phases
from ..facts import devices
from ..memory import amount
from ..recipe import Recipe
from ..roles import JUDGE

CODE = "RL403"
SETTINGS = {"rollout": ("cluster.rollout_tensor",), "train": ("cluster.nodes", "cluster.gpus_per_node")}
"""What says how many devices share a role's model; another role is a setting of its own."""
FULL = 0.95
"""From this share of a device on, the least that a phase needs leaves no room for what is not counted."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding with the table of all phases, where one of them is too large, or nearly."""
    size, found = device_size(recipe.settings.cluster.gpu), list(phases(recipe))
    if size is None or devices(recipe) is None or not any(p.total > FULL * size for p in found):
        return
    largest = max(found, key=lambda p: p.total)
    share = "" if largest.total > size else f", {largest.total / size:.0%} of what it has"
    settings = SETTINGS.get(largest.role, (f"cluster.{largest.role}",))
    written = [s for s in settings if any(step.span for step in recipe.origins.get(s, ()))]
    yield clash(
        CODE, recipe, f"{largest.name[0].upper()}{largest.name[1:]} takes at least {amount(largest.total)} on each "
        f"device{share or f', and it has {amount(size)}'}.",
        (recipe.where("cluster.gpu"), f"{amount(size)} each"), (recipe.where("model.policy"), "the model"),
        *((recipe.where(s), "over these devices") for s in written),
        why="; ".join(_row(p, size) for p in found) + ".",
        fix=_fix(largest), severity="warning" if share else "error")


def _row(phase: Phase, size: int) -> str:
    parts = " + ".join(f"{what} {amount(n)}" for what, n in phase.parts.items())
    return f"{phase.name}: {parts} = {amount(phase.total)}{' (too much)' if phase.total > size else ''}"


def _fix(phase: Phase) -> str:
    if phase.role == "rollout":
        return "Write a larger rollout_tensor, a shorter max_tokens, or a smaller model."
    if phase.role == JUDGE:
        return "Use smaller models, or fewer: each process of the judge role holds all that are asked."
    if phase.role != "train":
        return f"Write a larger {phase.role} in the cluster block, or use a smaller model."
    return "Use more devices (nodes, gpus_per_node), an optimizer with fewer states, or a smaller model."
