"""RL318: a choice is about turns, steps, segments or tool calls, and nothing in the recipe makes any.

One answer to one prompt has no turns, states or segments, and calls no tool. Its text has steps where a stage of
sampling cuts it.
Source: the units and needs of the choices themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import ORDINAL, SEGMENT, STATE, STEP, TURN
from rldsl.axes import discover
from rldsl.axes.base import Sampler
from rldsl.axes.choice import Choice
from rldsl.axes.structure import Dividing
from rldsl.axes.traits import COMPACTS, MULTI_TURN, TOOLS, Trait
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import divided, giving, names, place, said, units
from ..recipe import Node, Recipe
from ..ways import shortly, ways

CODE = "RL318"
INSIDE = (TURN, ORDINAL, STATE, STEP, SEGMENT)
"""The units inside a response, and those of siblings that are made of them."""
TRAITS = (MULTI_TURN, TOOLS, COMPACTS)


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice and unit, or trait, that nothing gives."""
    given = divided(recipe)
    for node in recipe.nodes():
        own = units(recipe, node)
        for unit in (u for u in INSIDE if u in own - given and not (u == ORDINAL and TURN in own)):
            yield _found(recipe, node, f"{said(node)} is about {_plural(unit)}, and nothing divides responses into "
                         f"any.", _dividers(unit))
        for trait in (t for t in TRAITS if t in node.choice.needs and not giving(recipe, t)):
            yield _found(recipe, node, f"{said(node)} needs {trait.text}, and no choice on sampling gives that.",
                         names("sampling", Choice, gives=trait), trait)


def _found(recipe: Recipe, node: Node, message: str, offered: str, trait: Trait | None = None) -> Diagnostic:
    own = place(node, trait) if trait else node.span
    return clash(
        CODE, recipe, message, (own, "looks inside a response"), (recipe.sampling[0].span, "one answer to a prompt"),
        why="Its formula is over parts that a response does not have.",
        fix=f"Sample with what gives them ({offered}), or leave {said(node)} out." if offered else
            f"Leave {said(node)} out.")


def _plural(unit: str) -> str:
    return {ORDINAL: "turns of siblings", STATE: "states that siblings share"}.get(unit, f"{unit}s")


def _dividers(unit: str) -> str:
    """The choices on sampling that, with the parameters of some example, divide responses into a unit."""
    found = []
    for name in discover.names("sampling"):
        cls = discover.find("sampling", name)
        dividing = [c for c in ways(cls) if unit in c.divides()] if issubclass(cls, (Sampler, Dividing)) else []
        found += [shortly(c, every_word=True) for c in dividing[:1]]
    return ", ".join(found)
