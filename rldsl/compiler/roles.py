"""The roles beside sampling and training that have processes of their own, and the devices that are left to others."""

from __future__ import annotations

from dataclasses import dataclass

from rldsl.algebra.variables import KL_EXACT, LOGP_REF, MISMATCHED
from rldsl.axes.traits import VALUES

from .facts import devices, giving, reading, taught
from .recipe import Recipe

REFERENCE, CRITIC, TEACHER = "reference", "critic", "teacher"
"""Each is a setting of `cluster` too: how many ranks the role's model has to itself."""
INITIAL = "initial"
"""The reference that is the policy itself before its first update."""


@dataclass(frozen=True)
class Apart:
    """A role whose `models` each have `ranks` processes of their own."""

    role: str
    ranks: int
    models: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """What each model's ranks are called."""
        return numbered(self.role, self.models)

    @property
    def devices(self) -> int:
        """GPUs, or processes where there are none."""
        return self.ranks * self.models


def numbered(role: str, models: int) -> tuple[str, ...]:
    """A name for each model of a role."""
    return (role,) if models == 1 else tuple(f"{role}-{k + 1}" for k in range(models))


def frozen(recipe: Recipe) -> dict[str, tuple[str, ...]]:
    """{role: its models} of the models that some formula reads and nobody trains. Teachers of one name are one."""
    model, found = recipe.settings.model, {}
    if reading(recipe, LOGP_REF.name, KL_EXACT.name, MISMATCHED.name):
        found[REFERENCE] = (model.reference,)
    if taught(recipe) and model.teachers:
        found[TEACHER] = tuple(dict.fromkeys(model.teachers))
    return found


def apart(recipe: Recipe) -> tuple[Apart, ...]:
    """Every role that the cluster block gives ranks of its own, where some formula reads its model."""
    models = {role: len(found) for role, found in frozen(recipe).items()}
    if giving(recipe, VALUES):
        models[CRITIC] = 1
    return tuple(Apart(role, ranks, models[role]) for role in (REFERENCE, CRITIC, TEACHER)
                 if role in models and (ranks := getattr(recipe.settings.cluster, role)))


def pooled(recipe: Recipe) -> int | None:
    """GPUs that the roles apart leave to a placement that names no pools; None where the recipe does not say."""
    total = devices(recipe)
    return None if total is None else total - sum(role.devices for role in apart(recipe))
