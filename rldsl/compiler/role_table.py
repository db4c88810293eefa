"""All roles of a cluster as one table: processes, what each takes, what each holds, and the least memory of that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rldsl.axes.traits import VALUES

from .device_memory import phases
from .facts import giving
from .memory import amount
from .recipe import Recipe
from .roles import (
    CRITIC,
    INITIAL,
    JUDGE,
    LENT,
    POLICY,
    REWARD,
    ROLLOUT,
    TEACHER,
    TRAIN,
    Role,
    apart,
    asked,
    frozen,
    processes,
)

HEAD = ("role", "processes", "each takes", "memory of a device, at least", "each holds")
SAID = {"reward": "the reward model", JUDGE: "the judge", POLICY: "the policy of the newest version",
        INITIAL: "the reference", TEACHER: "the teacher that begins responses"}
"""{what a model is asked as: in words}."""


@dataclass(frozen=True)
class RoleRow:
    """One role: how many processes it has, what Ray reserves for each, what each holds, and the least that a device of
    it needs for that (see `device_memory`); None where no model is held, or its size is not known."""

    role: str
    processes: int
    takes: str
    holds: str
    memory: str | None

    @property
    def cells(self) -> tuple[str, ...]:
        """As texts, in the order of `HEAD`."""
        return self.role, str(self.processes), self.takes, self.memory or "", self.holds


def role_table(recipe: Recipe) -> tuple[RoleRow, ...]:
    """A row for each role of the recipe's cluster; none where one process does everything."""
    if recipe.settings.cluster.where == "local":
        return ()
    least: dict[str, float] = {}
    for phase in phases(recipe):
        least[phase.role] = max(least.get(phase.role, 0.0), phase.total)
    holds = dict(_holds(recipe))
    return tuple(RoleRow(role.name, role.processes, _takes(role), holds[role.name], _memory(least, role.name))
                 for role in processes(recipe))


def _takes(role: Role) -> str:
    whole = " + ".join(f"{number:g} {kind}" for kind, number in role.bundle.items())
    return whole if role.sharers == 1 else f"1/{role.sharers} of {whole}"


def _memory(least: dict[str, float], name: str) -> str | None:
    size = least.get({LENT: ROLLOUT}.get(name, name.partition("-")[0]))
    return None if size is None else amount(size)


def _holds(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """(role, what each of its processes holds)."""
    own, beside = {role.role: role for role in apart(recipe)}, frozen(recipe)
    yield ROLLOUT, "an engine with the policy"
    yield LENT, "an engine on devices that the trainer lends"
    inside = [f"the {role}" for role in beside if role not in own]
    if giving(recipe, VALUES) and CRITIC not in own:
        inside.append("the critic")
    yield TRAIN, ", ".join(["a rank of the policy", *inside])
    for role in own.values():
        models = ["the policy before its first update" if m == INITIAL else m for m in beside.get(role.role, ())]
        for k, name in enumerate(role.names):
            yield name, f"a rank of {models[k]}" if models else "a rank of the critic"
    told = [SAID[who] + (f" {model}" if model and who not in (POLICY, INITIAL) else "")
            for who, model in asked(recipe).items()]
    yield JUDGE, ", ".join(told)
    yield REWARD, "the functions that score"
