"""RL406: a formula reads a quantity, or is over units, that no engine here provides.

`probe` evaluates such a recipe on given numbers; a run could not fill the numbers in.
Source: what the nodes of the graph write (`rldsl.compiler.lower`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import GROUP, PAIR, POSITION, RESPONSE, TOKEN, UPDATE
from rldsl.algebra.variables import CHOSEN, GREEDY_REWARD, INVALID, MC_VALUE, SUCCEEDED
from rldsl.axes.base import Gate
from rldsl.axes.traits import CONTINUED, GREEDY_BASELINE, STORED, TOOLS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import divided, mentions, reads, said, sampler, units
from ..lower import provided
from ..recipe import Node, Recipe
from .rl318_nothing_divides import INSIDE

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


def _units(recipe: Recipe, node: Node) -> frozenset[str]:
    judged = {PAIR} if isinstance(node.choice, Gate) else set()
    return units(recipe, node) - {*WHOLE, *INSIDE} - divided(recipe) - judged


def _explained(node: Node, name: str) -> bool:
    """Whether another rule says better what is missing: what gives the trait, or responses for a preference gate."""
    trait = {GREEDY_REWARD.name: GREEDY_BASELINE, CHOSEN.name: STORED, MC_VALUE.name: CONTINUED, INVALID.name: TOOLS,
             SUCCEEDED.name: TOOLS}.get(name)
    return trait in node.choice.needs or (name == CHOSEN.name and isinstance(node.choice, Gate))
