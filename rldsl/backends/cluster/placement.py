"""Whether the cluster can ever hold the processes that a recipe asks for, and where each of them goes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rldsl.compiler.roles import Role
from rldsl.diagnostics import Diagnostic
from rldsl.runtime.errors import RunError

SECONDS = 10.0
"""How long bundles that fit the cluster may take to be reserved; others that hold them keep them longer."""

GRAIN = 10_000
"""Parts of one CPU or GPU that Ray tells apart."""


def part(amount: float, sharers: int) -> float:
    """What each of several processes may take of an amount, rounded down to what Ray counts in."""
    return math.floor(amount / sharers * GRAIN) / GRAIN


@dataclass(frozen=True)
class Reserved:
    """Reserved bundles: those of each role in order, `count` of them. `each` is what one process of a role may take of
    GPUs."""

    group: Any
    first: Mapping[str, int]
    count: Mapping[str, int]
    each: Mapping[str, float]

    def gpus(self, role: str) -> float:
        """GPUs of one process of a role."""
        return self.each[role]

    def strategy(self, role: str, index: int) -> Any:
        """Where Ray puts the process `index` of a role."""
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        return PlacementGroupSchedulingStrategy(self.group, placement_group_bundle_index=self.first[role] + index)


def reserve(wanted: tuple[Role, ...], seconds: float = SECONDS) -> Reserved:
    """Reserves every process of every role at once. RunError RL606, within seconds, where the cluster has no room."""
    from ray.util.placement_group import placement_group, remove_placement_group

    _require_room(wanted)
    group = placement_group([role.bundle for role in wanted for _ in range(role.count)], strategy="PACK")
    if not group.wait(seconds):
        remove_placement_group(group)
        raise _no_room(wanted, "others hold a part of it", f"was not free within {seconds:g} s")
    first, end = {}, 0
    for role in wanted:
        first[role.name], end = end, end + role.count
    return Reserved(group, first, {role.name: role.count for role in wanted}, {role.name: role.gpus for role in wanted})


def _require_room(wanted: tuple[Role, ...]) -> None:
    """RunError RL606 where not even an empty cluster could hold the roles: in all, or one process on one node."""
    import ray

    nodes = [n["Resources"] for n in ray.nodes() if n["Alive"]]
    there = Counter({kind: sum(n.get(kind, 0.0) for n in nodes) for kind in ("CPU", "GPU")})
    needs = Counter()
    for role in wanted:
        for kind, number in role.bundle.items():
            needs[kind] += role.count * number
        if not any(all(n.get(kind, 0.0) >= number for kind, number in role.bundle.items()) for n in nodes):
            raise _no_room(wanted, f"no node has {_amount(role.bundle)} for one process of the {role.name} role")
    if any(needs[kind] > there[kind] for kind in needs):
        raise _no_room(wanted, "it would wait for ever")


def _no_room(wanted: tuple[Role, ...], why: str, what: str = "is more than the cluster has") -> RunError:
    import ray

    asked = Counter()
    for role in wanted:
        for kind, number in role.bundle.items():
            asked[kind] += role.count * number
    listed = " + ".join(f"{role.count} × {_amount(role.bundle)} ({role.name})" for role in wanted)
    there, free = ray.cluster_resources(), ray.available_resources()
    has = ", ".join(f"{math.floor(there.get(kind, 0))} {kind} of which {math.floor(free.get(kind, 0))} free"
                    for kind in asked)
    return RunError(Diagnostic("RL606", f"the placement {listed} = {_amount(asked)} {what}: {has}", why=why,
                               fix="ask for fewer processes in the placement or the cluster block, or add nodes"))


def _amount(bundle: Mapping[str, float]) -> str:
    """GPUs where there are some, else CPUs."""
    kind = "GPU" if "GPU" in bundle else "CPU"
    return f"{bundle[kind]:g} {kind}"
