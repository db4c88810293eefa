"""Recipes put together from choices, without any source text."""

from dataclasses import replace

from rldsl.axes import discover
from rldsl.axes.choice import Choice
from rldsl.axes.types import Policies
from rldsl.compiler.recipe import Node, Recipe
from rldsl.compiler.settings import Optim, Settings
from rldsl.diagnostics import Span

HERE = Span("hand.rl", 1, 1, 1, 2)
CURRENT_OLD = Policies("current", "old")


def choice(axis: str, name: str, *args, **params) -> Choice:
    """A choice of an axis by its name in the language."""
    return discover.find(axis, name)(*args, **params)


def node(axis: str, name: str, *args, **params) -> Node:
    """The same, as a recipe holds it."""
    return Node(choice(axis, name, *args, **params), HERE)


def with_optim(recipe: Recipe, **changes) -> Recipe:
    """The recipe with other optim settings."""
    return replace(recipe, settings=replace(recipe.settings, optim=replace(recipe.settings.optim, **changes)))


def grpo(**changes) -> Recipe:
    """A group of 4, clip, response mean, one update per batch."""
    parts = dict(
        name="grpo", file="hand.rl", doc="", span=HERE, feedback=node("feedback", "verify", "numeric"),
        sampling=(node("sampling", "group", 4, max_tokens=16),), advantage=(node("advantage", "group_norm"),),
        ratio=node("ratio", "token", CURRENT_OLD), gate=node("gate", "clip", 0.2), regularisers=(),
        reduction=node("reduction", "response_mean"), distribution=(node("distribution", "on_policy"),),
        schedule=node("system", "sync"), placement=node("system", "colocated"),
        settings=Settings(optim=Optim(optimizer=choice("optimizer", "adamw", lr=1e-3))), seed=1, axis_spans={},
        origins={})
    return Recipe(**{**parts, **changes})
