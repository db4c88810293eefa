"""Which backend runs a plan: the recipe's cluster block says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.run import Run

if TYPE_CHECKING:
    from .local.data import Reader

LOCAL = "local"
OpenRun = Callable[..., AbstractContextManager[Run]]


def refuse(recipe: Recipe) -> None:
    """RecipeError RL406 for what the backend that the recipe asks for cannot do; no engine is loaded."""
    if recipe.settings.cluster.where != "local":
        from .cluster.capability import refuse as unable
    else:
        from .local.refusal import refuse as unable
    unable(recipe)


def joins(plan: Plan) -> bool:
    """Whether a plan runs on a cluster, and so on one that is up already."""
    return from_canonical(plan.recipe).settings.cluster.where != LOCAL


def opener(plan: Plan, address: str | None) -> OpenRun:
    """What opens a run of this plan; `address` is of a Ray cluster to join.

    RecipeError RL208 for an address that the recipe's backend would not read.
    """
    if joins(plan):
        from .cluster.launch import open_run

        return partial(open_run, address=address)
    if address is not None:
        raise RecipeError([Diagnostic(
            "RL208", f"--address {address} joins a cluster, and `{plan.name}` runs in one process",
            why="without a cluster block a recipe samples and trains here",
            fix="write cluster { nodes: 1 } in the recipe, or leave --address out")])
    from .local.launch import open_run

    return open_run


def reader(recipe: Recipe, dtype: str, root: Path) -> Reader:
    """How the recipe's model turns prompts into tokens, as the backend that runs it reads models. RecipeError RL407,
    RL406 for a model that is missing or that it cannot run."""
    spec = recipe.settings.model.policy
    if recipe.settings.cluster.where != LOCAL:
        from .cluster.model_folder import described

        return described(spec, dtype, recipe.seed, root)
    from .local.data import Model
    from .local.load import load_policy

    return Model(*load_policy(spec, dtype, recipe.seed, root=root))
