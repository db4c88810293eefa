"""RL317: the sampler's candidates are to be repeated, and it chooses from the whole vocabulary.

Source: keep-sampling-mask in DeepSeek-V3.2 (arXiv:2512.02556), section 3.1: the mask is that of top-p or top-k.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import CANDIDATES_REPLAY
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said, sampler
from ..recipe import Recipe

CODE = "RL317"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """A finding for each choice that repeats candidates, where no truncation is on."""
    source = sampler(recipe)
    if source.top_k is not None or (source.top_p is not None and source.top_p < 1):
        return
    for node in giving(recipe, CANDIDATES_REPLAY):
        yield clash(
            CODE, recipe, f"{said(node)} repeats the tokens that sampling could choose from, and "
            f"{said(recipe.sampling[0])} chooses from all of them.",
            (place(node, CANDIDATES_REPLAY), "repeats candidates"),
            (recipe.sampling[0].span, "has neither top_p nor top_k"),
            why="The log-prob over the whole vocabulary is already that of what was sampled.",
            fix=f"Leave {said(node)} out, or sample with top_p or top_k.")
