"""RL507: groups of equal rewards teach nothing, and still count.

Their advantage is 0. Where they count they stay in every denominator, so that the step shrinks as more prompts are
solved; and a KL to the reference moves the policy on them alone. Legal and common: a note.
Source: DAPO (arXiv:2503.14476), section 3.2, on the gradient that all-right groups dilute.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import UPDATE, Const, Reduce
from rldsl.algebra.grain import walk
from rldsl.algebra.simplify import is_zero
from rldsl.axes.traits import GROUP_OUTCOMES, REFERENCE_KL, SIBLINGS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..equal_rewards import teaches_equals
from ..facts import giving, lives_by_advantage, place, said, stated
from ..recipe import Node, Recipe

CODE = "RL507"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; groups that are taken out weigh nothing, so that no KL moves the policy on them either."""
    estimator, reduction = recipe.advantage[0], recipe.reduction
    if SIBLINGS not in estimator.choice.needs or giving(recipe, GROUP_OUTCOMES) or (
            reduction.choice.uniform_groups != "count") or (
            teaches_equals(estimator.choice) or not lives_by_advantage(recipe)):
        return
    held = [n for n in recipe.regularisers if REFERENCE_KL in n.choice.gives and not all(map(is_zero,
                                                                                         stated(recipe, n)))]
    said_of = (["stay in the denominators"] if _divides(reduction) else []) + (["are moved by the KL"] if held else [])
    if said_of:
        grows = (["the smaller is the step"] if _divides(reduction) else []) + (
            ["the larger the KL's part in it"] if held else [])
        yield clash(
            CODE, recipe, f"Groups of equal rewards have advantage 0 under {said(estimator)}, and "
            f"{' and '.join(said_of)}.", (reduction.where("uniform_groups"), "counts them"),
            *((place(n, REFERENCE_KL), "moves the policy on them too") for n in held),
            (estimator.span, "0 where all rewards are equal"),
            why=f"The more prompts are solved, {' and '.join(grows)}.",
            fix="Nothing, if this is meant; uniform_groups: exclude leaves them without weight, and a filter on "
                "outcomes takes them out of the batch.", severity="info")


def _divides(reduction: Node) -> bool:
    """Whether the weight of a response depends on which others there are; a plain sum has no denominator."""
    return any(isinstance(n, Reduce) and n.over == UPDATE for n in walk(reduction.choice.weight(Const(1.0))))
