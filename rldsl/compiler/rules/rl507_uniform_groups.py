"""RL507: groups of equal rewards teach nothing, and still count.

Their advantage is 0. They stay in every denominator, so that the step shrinks as more prompts are solved; and a KL to
the reference moves the policy on them alone. Legal and common: a note.
Source: DAPO (arXiv:2503.14476), section 3.2, on the gradient that all-right groups dilute.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import STATE
from rldsl.algebra.grain import grains
from rldsl.algebra.simplify import is_zero
from rldsl.axes.traits import GROUP_OUTCOMES, REFERENCE_KL, SIBLINGS
from rldsl.diagnostics import Diagnostic

from ..clash import Place, clash
from ..facts import giving, place, said, stated
from ..recipe import Node, Recipe

CODE = "RL507"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    estimator = recipe.advantage[0]
    if SIBLINGS not in estimator.choice.needs or giving(recipe, GROUP_OUTCOMES) or _compares_steps(recipe, estimator):
        return
    counted = recipe.reduction.choice.uniform_groups == "count"
    held = [n for n in recipe.regularisers if REFERENCE_KL in n.choice.gives and not all(map(is_zero,
                                                                                         stated(recipe, n)))]
    places: list[Place] = [(recipe.reduction.where("uniform_groups"), "counts them")] if counted else []
    places += [(place(n, REFERENCE_KL), "moves the policy on them too") for n in held]
    if places:
        effects = (["stay in the denominators"] if counted else []) + (["are moved by the KL"] if held else [])
        yield clash(
            CODE, recipe, f"Groups of equal rewards have advantage 0 under {said(estimator)}, and "
            f"{' and '.join(effects)}.", *places, (estimator.span, "0 where all rewards are equal"),
            why="The more prompts are solved, the smaller is the step, or the larger the KL's part in it.",
            fix="Nothing, if this is meant; uniform_groups: exclude takes them out of the denominators, and a filter "
                "on outcomes out of the batch.", severity="info")


def _compares_steps(recipe: Recipe, estimator: Node) -> bool:
    """Whether steps are compared too: they may differ in return where the responses do not."""
    return any(STATE in grains(e) for e in stated(recipe, estimator))
