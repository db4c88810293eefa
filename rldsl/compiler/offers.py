"""What a fix names: choices that the recipe can take as it is, without a new error."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace

from rldsl.axes import discover
from rldsl.axes.base import Placement, Schedule
from rldsl.axes.choice import Choice
from rldsl.axes.traits import Trait

from .facts import names
from .recipe import Node, Recipe
from .ways import shortly, ways

_trying: ContextVar[bool] = ContextVar("trying", default=False)
"""Whether a recipe is looked at only for what is wrong with it; its own fixes are then read by nobody."""
_tries: ContextVar[tuple[Recipe, dict] | None] = ContextVar("tries", default=None)
"""The recipe whose fixes are being made, and its errors with each choice that was tried."""


def fitting(recipe: Recipe, axis: str, role: type[Choice], *, gives: Trait | None = None,
            never_gives: Trait | None = None, never_needs: Trait | None = None) -> str:
    """The choices of an axis in a role that have one trait and not the others, as a list in words.

    Of these, the ones with which the recipe has no error that it does not have already, or else the fewest of them.
    """
    def right(choice: Choice) -> bool:
        return (gives is None or gives in choice.gives) and (
            never_gives not in choice.gives and never_needs not in choice.needs)

    return ", ".join(closest(recipe, axis, role, right, gives, never_gives, never_needs)) or names(
        axis, role, gives=gives, never_gives=never_gives, never_needs=never_needs)


def closest(recipe: Recipe, axis: str, role: type[Choice], right: Callable[[Choice], bool],
            *traits: Trait | None) -> list[str]:
    """The choices that are right and bring the fewest new errors, with the words that decide on these traits."""
    found = _new_errors(recipe, axis, role, right, *traits)
    return [name for name, number in found.items() if number == min(found.values())]


def fits(recipe: Recipe, axis: str, role: type[Choice], right: Callable[[Choice], bool],
         *traits: Trait | None) -> list[str]:
    """The choices that are right and bring no new error, with the words that decide on these traits."""
    return [name for name, number in _new_errors(recipe, axis, role, right, *traits).items() if number == 0]


def _new_errors(recipe: Recipe, axis: str, role: type[Choice], right: Callable[[Choice], bool],
                *traits: Trait | None) -> dict[str, int]:
    """{a choice as it would be written: errors that the recipe would have more with it}."""
    if _trying.get():
        return {}
    found, kept = {}, {"max_tokens": recipe.sampling[0].choice.max_tokens}
    for name in discover.names(axis):
        cls = discover.find(axis, name)
        way = next((c for c in ways(cls, **kept) if right(c)), None) if issubclass(cls, role) else None
        if way is not None:
            known, changed = _tried(recipe, None), _tried(recipe, way)
            found[shortly(way, *traits)] = len(changed - known)
    return found


def _tried(recipe: Recipe, choice: Choice | None) -> frozenset[tuple[str, str]]:
    """The errors of a recipe, with a choice put into it; several rules ask for the same."""
    last = _tries.get()
    if last is None or last[0] is not recipe:
        last = (recipe, {})
        _tries.set(last)
    if choice not in last[1]:
        token = _trying.set(True)
        try:
            last[1][choice] = _errors(recipe if choice is None else _with(recipe, choice))
        finally:
            _trying.reset(token)
    return last[1][choice]


def _errors(recipe: Recipe) -> frozenset[tuple[str, str]]:
    """Without their numbers: 8 responses that cannot be cut are no other error than 4 of them."""
    from .check import check  # it imports the rules

    found = check(recipe, warnings=False)
    return frozenset((d.code, re.sub(r"\d+", "", d.message)) for d in found if d.severity == "error")


def _with(recipe: Recipe, choice: Choice) -> Recipe:
    """The recipe with another choice in the place of the one that it has."""
    axis = choice.axis
    match choice:
        case Schedule():
            return replace(recipe, schedule=Node(choice, recipe.schedule.span))
        case Placement():
            return replace(recipe, placement=Node(choice, recipe.placement.span))
    there = getattr(recipe, axis)
    if isinstance(there, tuple):
        return replace(recipe, **{axis: (Node(choice, there[0].span), *there[1:])})
    return replace(recipe, **{axis: Node(choice, there.span)})
