"""RL406: a formula reads a quantity, or divides a response into units, that no engine here provides.

`probe` evaluates such a recipe on given numbers; a run could not fill the numbers in.
Source: what the nodes of the graph write (`rldsl.compiler.lower`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import GROUP, PAIR, POSITION, RESPONSE, TOKEN, UPDATE
from rldsl.algebra.grain import grains
from rldsl.algebra.variables import CHOSEN, GREEDY_REWARD
from rldsl.axes.base import Gate
from rldsl.axes.traits import GREEDY_BASELINE, STORED
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import mentions, reads, said, sampler, written
from ..lower import provided
from ..recipe import Node, Recipe

CODE = "RL406"
WHOLE = {TOKEN, RESPONSE, POSITION, GROUP, UPDATE}
"""The units that every batch is divided into."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that reads what nobody writes."""
    for node in recipe.nodes():
        unknown = [name for name in sorted(reads(recipe, node)) if not provided(name, sampler(recipe))
                   and not _explained(node, name)]
        missing = [f"`{name}`" for name in unknown if mentions(recipe, node, name)]
        missing += [f"{unit}s" for unit in sorted(_units(recipe, node))]
        if missing:
            yield clash(
                CODE, recipe, f"{said(node)} reads {' and '.join(missing)}, which no engine here provides.",
                (node.span, "reads what nobody writes"),
                why="The numbers that its formula needs would never be there.",
                fix="Evaluate the recipe on given numbers with `rldsl probe`, or choose something else for a run.")


def _units(recipe: Recipe, node: Node) -> set[str]:
    own = {g for e in written(recipe, node) for g in grains(e)}
    ratio = set() if node is recipe.ratio else {g for e in written(recipe, recipe.ratio) for g in grains(e)}
    judged = {PAIR} if isinstance(node.choice, Gate) else set()
    return own - ratio - WHOLE - sampler(recipe).divides() - judged


def _explained(node: Node, name: str) -> bool:
    """Whether another rule says better what is missing: what gives the trait, or responses for a preference gate."""
    trait = {GREEDY_REWARD.name: GREEDY_BASELINE, CHOSEN.name: STORED}.get(name)
    return trait in node.choice.needs or (name == CHOSEN.name and isinstance(node.choice, Gate))
