"""RL403: a phase that needs more memory than its device has, however it is laid out.

The counts are lower bounds: fully sharded training, the cache of one response, nothing for activations. A GPU or model
whose size is not known refuses nothing.
Source: ZeRO (arXiv:1910.02054), section 3.1, for weights, gradients and optimizer; the rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic, Span

from ..clash import clash
from ..device_memory import Phase, device_size, phases
from ..facts import devices
from ..memory import amount
from ..recipe import Recipe
from ..roles import JUDGE

CODE = "RL403"
POOL = ("gpus_per_node", "nodes")
"""What says how many devices there are where roles share them."""
ROLLOUT, TRAIN = "rollout", "train"
FULL = 0.95
"""From this share of a device on, the least that a phase needs leaves no room for what is not counted."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding with the table of all phases, where one of them is too large, or nearly."""
    size, found = device_size(recipe.settings.cluster.gpu), list(phases(recipe))
    if size is None or devices(recipe) is None or not any(p.total > FULL * size for p in found):
        return
    largest = max(found, key=lambda p: p.total)
    share = "" if largest.total > size else f", {largest.total / size:.0%} of what it has"
    numbers = _numbers(recipe, largest.role)
    sets = [(recipe.placement.where("versions"), "each with its weights")] if largest.role == ROLLOUT and (
        recipe.placement.choice.serves() > 1) else []
    yield clash(
        CODE, recipe, f"{largest.name[0].upper()}{largest.name[1:]} takes at least {amount(largest.total)} on each "
        f"device{share or f', and it has {amount(size)}'}.",
        *sets, *((place, "over these devices") for place in numbers.values() if place),
        (recipe.where("cluster.gpu"), f"{amount(size)} each"), (recipe.where("model.policy"), "the model"),
        why="; ".join(_row(p, size) for p in found) + ".",
        fix=_fix(largest, tuple(numbers), bool(sets)), severity="warning" if share else "error")


def _numbers(recipe: Recipe, role: str) -> dict[str, Span | None]:
    """What says how many devices share a role's model, and where it is written; nobody shares what is asked."""
    if role != ROLLOUT and (parameter := recipe.placement.choice.sized_by.get(role)):
        return {parameter: recipe.placement.where(parameter)}
    names = {ROLLOUT: ("rollout_tensor",), TRAIN: POOL, JUDGE: ()}.get(role, (role,))
    return {name: recipe.written(f"cluster.{name}") for name in names}


def _row(phase: Phase, size: int) -> str:
    parts = " + ".join(f"{what} {amount(n)}" for what, n in phase.parts.items())
    return f"{phase.name}: {parts} = {amount(phase.total)}{' (too much)' if phase.total > size else ''}"


def _fix(phase: Phase, numbers: tuple[str, ...], several: bool) -> str:
    if phase.role == JUDGE:
        return "Use smaller models, or fewer: each process of the judge role holds all that are asked."
    less = {ROLLOUT: "a shorter max_tokens", TRAIN: "an optimizer with fewer states"}.get(phase.role)
    others = ", ".join(filter(None, ("fewer versions" if several else "", less)))
    return f"Write a larger {' or '.join(numbers)}, {f'{others}, ' if others else ''}or a smaller model."
