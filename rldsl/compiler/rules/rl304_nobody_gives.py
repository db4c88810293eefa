"""RL304: a choice needs something that no choice of the recipe gives.

The catch-all of needs and gives: a value without a critic, a filter on correctness without a verifier. Needs with
a rule of their own are left to it.
Source: the needs and gives of the choices themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import PRETRAIN, VALUE
from rldsl.axes import discover
from rldsl.axes.base import Estimator, Gate, Ratio, Reduction, Sampler
from rldsl.axes.choice import Choice
from rldsl.axes.traits import (
    COMPACTS,
    CUTS,
    LENGTH_LIMIT,
    MULTI_TURN,
    RATIO,
    SIBLINGS,
    TOKEN_REWARDS,
    TOOLS,
    VALUES,
    Trait,
)
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, place, reading, said
from ..offers import closest
from ..recipe import Node, Recipe

CODE = "RL304"
ELSEWHERE = frozenset({SIBLINGS, RATIO, LENGTH_LIMIT, TOKEN_REWARDS, CUTS, MULTI_TURN, TOOLS, COMPACTS})
"""Needs whose absence other rules explain better."""
ALONE = (Sampler, Estimator, Ratio, Gate, Reduction)
"""Of these a recipe has one."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice and missing trait."""
    for node in recipe.nodes():
        for trait in sorted(node.choice.needs - ELSEWHERE, key=lambda t: t.name):
            if not giving(recipe, trait):
                yield _missing(recipe, node, trait)
    for node in () if giving(recipe, VALUES) else reading(recipe, VALUE.name):
        if VALUES not in node.choice.needs:
            yield _missing(recipe, node, VALUES)
    settings = recipe.settings
    for node in reading(recipe, PRETRAIN.name) if settings.model.policy and settings.data.pretrain is None else ():
        yield clash(
            CODE, recipe, f"{said(node)} reads texts of pretraining, and the recipe names none.",
            (node.span, "reads data beside the prompts"), (recipe.where("data.train"), "the only data"),
            why="It would read a quantity that nothing computes.", fix='Write data { pretrain: "…" }.')


def _missing(recipe: Recipe, node: Node, trait: Trait) -> Diagnostic:
    givers = _givers(recipe, trait, node) or _givers(recipe, trait)
    listed = "; ".join(f"{', '.join(found)} on {axis}" for axis, found in givers.items())
    return clash(
        CODE, recipe, f"{said(node)} needs {trait.text}, and no choice on "
        f"{' or '.join(givers) or 'any axis'} gives that.",
        (place(node, trait), f"needs {trait.text}"),
        *((recipe.axis_spans[axis], "does not give it") for axis in givers if axis in recipe.axis_spans),
        why="It would read a quantity that nothing computes.",
        fix=f"Choose what gives it ({listed}), or leave {said(node)} out." if givers else f"Leave {said(node)} out.")


def _givers(recipe: Recipe, trait: Trait, beside: Node | None = None) -> dict[str, list[str]]:
    """{axis: choices that can give a trait}; none that would take the place of the one that they are to stand beside.
    """
    found = {}
    for axis in discover.AXES:
        roles = tuple(role for role in ALONE if role.axis == axis)
        every = names(axis, Choice, gives=trait).split(", ")
        listed = [n for n in every if n and not issubclass(discover.find(axis, n.strip("`").partition("(")[0]), roles)]
        for role in roles:
            if beside is None or not isinstance(beside.choice, role):
                listed += closest(recipe, axis, role, lambda c: trait in c.gives, trait)
        if listed:
            found[axis] = listed
    return found
