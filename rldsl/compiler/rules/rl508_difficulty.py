"""RL508: dividing by a group's spread weighs prompts by how difficult they are.

A prompt that is almost always solved, or almost never, has a small spread and gets a large weight. A note: it is what
the method says, and one of the two points in which Dr. GRPO departs from it.
Source: Dr. GRPO (arXiv:2503.20783), section 3.1, question-level difficulty bias.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import GROUP, Apply, Reduce
from rldsl.algebra.grain import walk
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said, stated
from ..recipe import Node, Recipe

CODE = "RL508"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    estimator = recipe.advantage[0]
    if divides_by_spread(recipe, estimator):
        yield clash(
            CODE, recipe, f"{said(estimator)} divides by the spread of a prompt's rewards: very easy and very hard "
            "prompts weigh more.", (estimator.span, "divides by a spread over the group"),
            why="Of 8 responses, 1 right has a spread of 0.33 and 4 right one of 0.5: the same reward counts 1.5 times "
                "as much.",
            fix="Nothing, if this is meant; an advantage that only subtracts the group's mean weighs prompts alike.",
            severity="info")


def divides_by_spread(recipe: Recipe, estimator: Node) -> bool:
    """Whether a formula of the estimator has a standard deviation over the group in a divisor."""
    divisors = [n.args[1] for e in stated(recipe, estimator) for n in walk(e) if isinstance(n, Apply) and n.op == "div"]
    return any(isinstance(n, Reduce) and n.op.startswith("std") and n.over == GROUP for d in divisors for n in walk(d))
