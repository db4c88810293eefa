"""RL309: κ = π_old/μ counted twice.

current / rollout is (current / old) · κ, so a distribution that multiplies by κ multiplies by it again; and so do two
distributions that both multiply by it.
Source: the decomposition π_θ/μ = (π_θ/π_old)·(π_old/μ) of decoupled PPO (arXiv:2110.00641), section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_ROLLOUT
from rldsl.axes.traits import MULTIPLIES_KAPPA
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, reads, said
from ..recipe import Node, Recipe

CODE = "RL309"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each correction that repeats the ratio or another one; masks of 0 and 1 multiply by nothing."""
    corrections = giving(recipe, MULTIPLIES_KAPPA)
    if LOGP_ROLLOUT.name not in reads(recipe, recipe.ratio):
        yield from _repeated(recipe, corrections)
        return
    for node in corrections:
        yield clash(
            CODE, recipe,
            f"{said(node)} multiplies by κ = π_old/μ, and {said(recipe.ratio)} already compares with μ.",
            (place(node, MULTIPLIES_KAPPA), "multiplies by κ"), (recipe.ratio.where("pair"), "holds κ as a factor"),
            why="current / rollout is (current / old) · κ: the mismatch would be counted twice.",
            fix=f"Write current / old in {said(recipe.ratio)}, or leave {said(node)} out (a mask that only "
                "drops tokens may stay).")


def _repeated(recipe: Recipe, corrections: list[Node]) -> Iterator[Diagnostic]:
    for node in corrections[1:]:
        first = corrections[0]
        yield clash(
            CODE, recipe, f"{said(first)} and {said(node)} both multiply by κ = π_old/μ.",
            (place(node, MULTIPLIES_KAPPA), "multiplies by κ again"),
            (place(first, MULTIPLIES_KAPPA), "multiplies by κ"),
            why="Factors of the distribution are multiplied: inside both bounds the weight would be κ².",
            fix="Keep one of them (a mask that only drops tokens may stay).")
