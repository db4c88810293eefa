"""RL303: greedy sampling where siblings are compared.

Temperature 0, or only the most likely token, gives every sibling the same text: no spread, no signal.
Source: arithmetic; the all-equal group of DAPO (arXiv:2503.14476), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import SIBLINGS
from rldsl.diagnostics import Diagnostic, Span

from ..clash import clash
from ..facts import giving, needing, place, said, sampler
from ..recipe import Recipe

CODE = "RL303"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that compares identical siblings."""
    greedy = found(recipe)
    for node in needing(recipe, SIBLINGS) if greedy and giving(recipe, SIBLINGS) else ():
        span, text = greedy
        yield clash(
            CODE, recipe,
            f"{said(node)} compares siblings, and {said(recipe.sampling[0])} with {text} gives the same "
            f"response {sampler(recipe).siblings()} times.",
            (span, "always takes the most likely token"), (place(node, SIBLINGS), "compares siblings"),
            why="Identical siblings have identical rewards: every advantage is 0.",
            fix="Write temperature: 1." if sampler(recipe).temperature == 0 else "Write top_k: none.")


def found(recipe: Recipe) -> tuple[Span, str] | None:
    """What makes sampling greedy, and where it stands; None where sampling is random."""
    choice, node = sampler(recipe), recipe.sampling[0]
    if choice.temperature == 0:
        return node.where("temperature"), "temperature 0"
    return (node.where("top_k"), "top_k 1") if choice.top_k == 1 else None
