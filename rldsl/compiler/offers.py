"""What a fix names: choices that the recipe can take as it is, without a new error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import MISSING, fields, replace

from rldsl.axes import discover
from rldsl.axes.base import Placement, Schedule
from rldsl.axes.choice import Choice
from rldsl.axes.traits import Trait

from .facts import names
from .recipe import Node, Recipe
from .settings import hints
from .typehints import words

_trying: ContextVar[bool] = ContextVar("trying", default=False)
"""Whether a recipe is looked at only for what is wrong with it; its own fixes are then read by nobody."""


def fitting(recipe: Recipe, axis: str, role: type[Choice], *, gives: Trait | None = None,
            never_gives: Trait | None = None, never_needs: Trait | None = None) -> str:
    """The choices of an axis in a role that have one trait and not the others, as a list in words.

    Of these, the ones with which the recipe has no error that it does not have already; all of them where each would
    bring one.
    """
    every = names(axis, role, gives=gives, never_gives=never_gives, never_needs=never_needs)
    if _trying.get():
        return every
    right = lambda c: ((gives is None or gives in c.gives) and never_gives not in c.gives  # noqa: E731
                       and never_needs not in c.needs)
    return ", ".join(fits(recipe, axis, role, right)) or every


def fits(recipe: Recipe, axis: str, role: type[Choice], right: Callable[[Choice], bool]) -> list[str]:
    """The choices that are right and bring no new error, each with the word that makes it so if its defaults do not."""
    if _trying.get():
        return []
    token = _trying.set(True)
    try:
        known, found = _errors(recipe), []
        for name in discover.names(axis):
            cls = discover.find(axis, name)
            ways = _ways(recipe, cls, name) if issubclass(cls, role) else ()
            way = next((c for c in ways if right(c) and _errors(_with(recipe, axis, c)) <= known), None)
            if way is not None:
                found.append(f"`{name}{_deciding(way)}`")
        return found
    finally:
        _trying.reset(token)


def _errors(recipe: Recipe) -> set[tuple[str, str]]:
    """Without their numbers: 8 responses that cannot be cut are no other error than 4 of them."""
    from .check import check  # it imports the rules

    return {(d.code, re.sub(r"\d+", "", d.message)) for d in check(recipe) if d.severity == "error"}


def _ways(recipe: Recipe, cls: type[Choice], name: str) -> Iterator[Choice]:
    """With its defaults, else with the parameters of its examples; sampled as long as the recipe samples."""
    longest = getattr(recipe.sampling[0].choice, "max_tokens", None)
    kept = {"max_tokens": longest} if "max_tokens" in cls.__dataclass_fields__ and longest is not None else {}
    if all(f.default is not MISSING or f.default_factory is not MISSING or f.name in kept for f in fields(cls)):
        yield cls(**kept)
    for example in discover.examples(cls.axis, name):
        yield cls(**{**example.params, **kept})


def _deciding(choice: Choice) -> str:
    """The words, in brackets, of the parameters that decide what a choice needs and gives, where they must be written.
    """
    said, order = [], [f.name for f in fields(choice)]
    for f in fields(choice):
        value = getattr(choice, f.name)
        if f.name in type(choice).decided_by.values() and value != f.default and value in words(
                hints(type(choice))[f.name]):
            unnamed = order.index(f.name) == len(said) < choice.positional
            said.append(value if unnamed else f"{f.name.removesuffix('_')}: {value}")
    return f"({', '.join(said)})" if said else ""


def _with(recipe: Recipe, axis: str, choice: Choice) -> Recipe:
    """The recipe with another choice in the place of the one that it has."""
    match choice:
        case Schedule():
            return replace(recipe, schedule=Node(choice, recipe.schedule.span))
        case Placement():
            return replace(recipe, placement=Node(choice, recipe.placement.span))
    there = getattr(recipe, axis)
    if isinstance(there, tuple):
        return replace(recipe, **{axis: (Node(choice, there[0].span), *there[1:])})
    return replace(recipe, **{axis: Node(choice, there.span)})
