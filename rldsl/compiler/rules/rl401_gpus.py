"""RL401: the layout of a role does not fit the devices of its pool.

Counted for the role, not for the cluster: with separate pools a role has its own devices only.
Source: Megatron-LM's parallel groups: tensor × pipeline × context must divide the ranks, pipeline × expert too.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import Place, clash
from ..facts import devices, plural, said
from ..recipe import Recipe

CODE = "RL401"
LAYOUTS = (("rollout", ("rollout_tensor",)), ("train", ("tensor", "pipeline", "context")),
           ("train", ("pipeline", "expert")))
"""(role, the settings of `cluster` whose product must divide the role's devices)."""
LARGEST_LAYOUT = 1024
"""Larger layouts are not offered."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """The roles against the cluster, then layouts against their role, one finding a role.

    Unknown numbers refuse nothing.
    """
    total, pools = devices(recipe), recipe.placement.choice.pools()
    if recipe.settings.cluster.where == "local":
        return
    if total is not None and sum(pools.values()) > total:
        yield _too_many(recipe, pools, total)
        return
    refused = set()
    for role, settings in LAYOUTS:
        have = pools.get(role, total)
        need = _product(recipe, settings)
        if have is not None and have % need and role not in refused:
            refused.add(role)
            yield _misfit(recipe, role, have, settings, need)


def _product(recipe: Recipe, settings: tuple[str, ...]) -> int:
    out = 1
    for name in settings:
        out *= getattr(recipe.settings.cluster, name)
    return out


def _size(recipe: Recipe) -> list[Place]:
    cluster = recipe.settings.cluster
    each = [(recipe.where("cluster.gpus_per_node"), f"{plural(cluster.gpus_per_node, 'GPU')} a node")]
    return [(recipe.where("cluster.nodes"), plural(cluster.nodes, "node")), *(each if cluster.gpus_per_node else [])]


def _too_many(recipe: Recipe, pools: dict[str, int], total: int) -> Diagnostic:
    asked = sum(pools.values())
    lower = f"Lower the roles to {total} in all, or write" if total >= len(pools) else "Write"
    return clash(
        CODE, recipe, f"{said(recipe.placement)} asks for "
        f"{' + '.join(f'{n} ({role})' for role, n in pools.items())} = {plural(asked, 'GPU')}, and the "
        f"cluster has {total}.",
        *((recipe.placement.where(role), f"the {role} role") for role in pools), *_size(recipe),
        why="Every role needs devices of its own, all at the same time.",
        fix=f"{lower} gpus_per_node: "
            f"{-(-asked // recipe.settings.cluster.nodes)}.")


def _misfit(recipe: Recipe, role: str, have: int, settings: tuple[str, ...], need: int) -> Diagnostic:
    cluster, own = recipe.settings.cluster, role in recipe.placement.choice.pools()
    layout = " × ".join(f"{name} {getattr(cluster, name)}" for name in settings)
    product = f"{layout} = {need}" if len(settings) > 1 else layout
    pool = "its own pool, not the whole cluster" if own else "shared with the other role"
    written = [name for name in settings if getattr(cluster, name) > 1]
    where = [(recipe.placement.where(role), f"the {role} role's devices")] if own else _size(recipe)
    return clash(
        CODE, recipe, f"The {role} role has {plural(have, 'GPU')} ({pool}), and one copy of its model takes "
        f"{product}.",
        *((recipe.where(f"cluster.{name}"), f"{name} {getattr(cluster, name)}") for name in written), *where,
        why="A role is made of whole copies of its model; left-over devices would belong to none.",
        fix=f"Choose {' × '.join(settings)} = {' or '.join(map(str, _divisors(have)))}, or give the {role} "
            f"role {_nearest(have, need)} GPUs.")


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, min(n, LARGEST_LAYOUT) + 1) if n % d == 0]


def _nearest(have: int, need: int) -> str:
    below = have // need * need
    return f"{below} or {below + need}" if below else str(need)
