"""RL521: a choice that looks at correctness, which the feedback does not keep apart.

Correctness is the first verifiable term as it was scored. A second verifier is not looked at; and where the term is
weighted or multiplied, the rest of the reward still holds a part of it.
Source: DAPO (arXiv:2503.14476), equation 11, and DRPO (Li et al., 2025), both for one correctness reward.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import CORRECT, REWARD
from rldsl.axes.traits import CORRECTNESS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, reads, said
from ..recipe import Node, Recipe, addends

CODE = "RL521"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that looks at correctness."""
    verifiers = giving(recipe, CORRECTNESS)
    for node in (n for n in recipe.nodes() if CORRECTNESS in n.choice.needs) if verifiers else ():
        if len(verifiers) > 1:
            yield _finding(recipe, node, verifiers[1], "not looked at",
                           f"{said(verifiers[0])} alone counts as correctness",
                           f"Keep one of {said(verifiers[0])} and {said(verifiers[1])}.")
        elif verifiers[0] not in addends(recipe.feedback) and reads(recipe, node) >= {CORRECT.name, REWARD.name}:
            yield _finding(recipe, node, verifiers[0], "not a plain term of the sum",
                           "what is left of the reward still depends on correctness",
                           f"Let {said(verifiers[0])}, without a weight, be a term of the sum.")


def _finding(recipe: Recipe, node: Node, verifier: Node, label: str, why: str, fix: str) -> Diagnostic:
    return clash(
        CODE, recipe, f"{said(node)} looks at correctness, which this feedback does not keep apart.",
        (place(node, CORRECTNESS), "looks at correctness"), (verifier.span, label),
        why=f"{why[0].upper()}{why[1:]}." if not why.startswith("`") else f"{why}.",
        fix=fix, severity="warning")
