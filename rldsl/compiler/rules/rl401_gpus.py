"""RL401: the layout of a role does not fit the devices of its pool.

Counted for the role, not for the cluster: with separate pools a role has its own devices only.
Source: Megatron-LM's parallel groups: tensor × pipeline × context must divide the ranks, pipeline × expert too.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic, Span

from ..clash import Place, clash
from ..facts import devices, plural, said
from ..recipe import Recipe
from ..roles import apart, beside, pooled

CODE = "RL401"
TRAINED = (("tensor", "pipeline", "context"), ("pipeline", "expert"))
"""The settings of `cluster` whose products must divide the ranks of a model that is laid out as the trainer's."""
SAMPLED = ("rollout_tensor",)
"""That of an engine."""
LARGEST_LAYOUT = 1024
"""Larger layouts are not offered."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """The roles against the cluster, then layouts against their role, one finding a role.

    Unknown numbers refuse nothing.
    """
    total, pools, rest = devices(recipe), recipe.placement.choice.pools(), pooled(recipe)
    if recipe.settings.cluster.where == "local":
        return
    asked = {**pools, **beside(recipe)}
    if total is not None and sum(asked.values()) + (0 if pools else 1) > total:
        yield _too_many(recipe, asked, total)
        return
    have = {"rollout": pools.get("rollout", rest), "train": pools.get("train", rest)}
    have |= {role.role: role.ranks for role in apart(recipe)}
    for role, devices_of in have.items():
        for settings in _layouts(recipe, role):
            need = _product(recipe, settings)
            if devices_of is not None and devices_of % need:
                yield _misfit(recipe, role, devices_of, settings, need)
                break


def _layouts(recipe: Recipe, role: str) -> tuple[tuple[str, ...], ...]:
    """The layouts that must divide a role's devices; those that a trainer lends hold engines too."""
    lent = (SAMPLED,) if role == "train" and recipe.placement.choice.lends() else ()
    return (SAMPLED,) if role == "rollout" else (*TRAINED, *lent)


def _product(recipe: Recipe, settings: tuple[str, ...]) -> int:
    out = 1
    for name in settings:
        out *= getattr(recipe.settings.cluster, name)
    return out


def _size(recipe: Recipe) -> list[Place]:
    cluster = recipe.settings.cluster
    each = [(recipe.where("cluster.gpus_per_node"), f"{plural(cluster.gpus_per_node, 'GPU')} a node")]
    return [(recipe.where("cluster.nodes"), plural(cluster.nodes, "node")), *(each if cluster.gpus_per_node else [])]


def _where(recipe: Recipe, role: str) -> Span:
    """Where the devices of a role are written."""
    placement = recipe.placement
    parameter = placement.choice.sized_by.get(role)
    return placement.where(parameter) if parameter else recipe.where(f"cluster.{role}")


def _too_many(recipe: Recipe, roles: dict[str, int], total: int) -> Diagnostic:
    pools, asked = recipe.placement.choice.pools(), sum(roles.values())
    who = said(recipe.placement) if set(roles) == set(pools) else f"`{recipe.name}`"
    least = asked if pools else asked + 1
    more = "" if pools else f", {said(recipe.placement)} at least 1 more"
    lower = f"Lower the roles to {total - least + asked} in all, or write" if total >= len(roles) + least - asked else (
        "Write")
    return clash(
        CODE, recipe, f"{who} asks for "
        f"{' + '.join(f'{n} ({role})' for role, n in roles.items())} = {plural(asked, 'GPU')}{more}, and the "
        f"cluster has {total}.",
        *((_where(recipe, role), f"the {role} role") for role in roles), *_size(recipe),
        why="Every role needs devices of its own, all at the same time.",
        fix=f"{lower} gpus_per_node: "
            f"{-(-least // recipe.settings.cluster.nodes)}.")


def _misfit(recipe: Recipe, role: str, have: int, settings: tuple[str, ...], need: int) -> Diagnostic:
    cluster, unit = recipe.settings.cluster, "GPU" if recipe.settings.cluster.gpus_per_node else "device"
    shared = role in ("rollout", "train") and not recipe.placement.choice.pools()
    layout = " × ".join(f"{name} {getattr(cluster, name)}" for name in settings)
    product = f"{layout} = {need}" if len(settings) > 1 else layout
    pool = "shared with the other role" if shared else "its own pool, not the whole cluster"
    written = [name for name in settings if getattr(cluster, name) > 1]
    where = _size(recipe) if shared else [(_where(recipe, role), f"the {role} role's devices")]
    near, number = _nearest(have, need), recipe.placement.choice.sized_by.get(role, role)
    more = f"give the {role} role {near} {unit}s" if shared else f"write {number}: {near}"
    return clash(
        CODE, recipe, f"The {role} role has {plural(have, unit)} ({pool}), and one copy of its model takes "
        f"{product}.",
        *((recipe.where(f"cluster.{name}"), f"{name} {getattr(cluster, name)}") for name in written), *where,
        why="A role is made of whole copies of its model; left-over devices would belong to none.",
        fix=f"Choose {' × '.join(settings)} = {' or '.join(map(str, _divisors(have)))}, or {more}.")


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, min(n, LARGEST_LAYOUT) + 1) if n % d == 0]


def _nearest(have: int, need: int) -> str:
    below = have // need * need
    return f"{below} or {below + need}" if below else str(need)
