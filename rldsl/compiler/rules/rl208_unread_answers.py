"""RL208: sampling answers each prompt more often than is trained on, and nothing reads what those answers earned.

A greedy answer is a baseline, continuations are a value: both cost their tokens and scores, whoever looks at them.
Source: no option is without effect; ReMax (arXiv:2310.10505) and VinePPO (arXiv:2410.01679) for their readers.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes import discover
from rldsl.axes.traits import CONTINUED, GREEDY_BASELINE, Trait
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import needing, said, sampler
from ..recipe import Recipe

CODE = "RL208"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each kind of such answers."""
    source = recipe.sampling[0]
    for trait in (GREEDY_BASELINE, CONTINUED):
        if trait in sampler(recipe).gives and not needing(recipe, trait):
            yield clash(
                CODE, recipe, f"{said(source)} gives {trait.text}, and nothing here reads it.",
                (source.span, "more answers than are trained on"), (recipe.advantage[0].span, "does not read them"),
                why="They are sampled and scored at every batch, and no number of the update depends on them.",
                fix=f"Choose an advantage that reads it ({_readers(trait)}), or sample without it.")


def _readers(trait: Trait) -> str:
    every = {name: discover.find("advantage", name).needs for name in discover.names("advantage")}
    return ", ".join(f"`{name}`" for name, needs in every.items() if not isinstance(needs, property) and trait in needs)
