"""RL312: tokens are sampled from a truncated distribution and scored on the full one.

p = [.6, .3, .1] under top_p .8 is sampled as [.667, .333, 0]: at equal weights the ratio is .9 instead of 1. Where no
choice reads μ the ratio is sound, but the data still comes from another distribution than the one trained.
Source: the truncation mask of DeepSeek-V3.2 (arXiv:2512.02556), keep-sampling-mask.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_ROLLOUT
from rldsl.axes.base import Distribution
from rldsl.axes.traits import CANDIDATES_REPLAY
from rldsl.diagnostics import Diagnostic, Span

from ..clash import clash
from ..facts import giving, names, reading, said, sampler
from ..recipe import Recipe
from .rl303_greedy import check as greedy_siblings

CODE = "RL312"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """An error for each choice that reads μ; without one, a warning."""
    cuts, source = _cuts(recipe), recipe.sampling[0]
    if not cuts or giving(recipe, CANDIDATES_REPLAY):
        return
    what = " and ".join(text for _, text in cuts)
    whole = " and ".join(f"{text.partition(' ')[0]}: none" for _, text in cuts)
    places = tuple((span, "takes tokens out before sampling") for span, _ in cuts)
    readers = reading(recipe, LOGP_ROLLOUT.name)
    for node in readers:
        yield clash(
            CODE, recipe, f"{said(source)} samples with {what}, and {said(node)} compares the sampled "
            "probability with that of the full distribution.",
            *places, (node.span, "reads μ"),
            why="Truncation renormalises: p = [.6, .3, .1] with top_p .8 gives a ratio of .9 at equal "
                "weights.",
            fix=f"Write {whole}, compare with current / old and no correction by μ, or repeat the "
                f"candidates in training ({names('distribution', Distribution, gives=CANDIDATES_REPLAY)}).")
    if not readers:
        yield clash(
            CODE, recipe, f"{said(source)} samples with {what}, and training scores the full distribution.",
            *places,
            why="Tokens outside the truncated set are never sampled, so the gradient is not that of the "
                "policy trained.",
            fix=f"Write {whole}, unless this bias is meant.", severity="warning")


def _cuts(recipe: Recipe) -> list[tuple[Span, str]]:
    choice, node = sampler(recipe), recipe.sampling[0]
    cuts = []
    if choice.temperature > 0 and choice.top_p is not None and choice.top_p < 1:
        cuts.append((node.where("top_p"), f"top_p {choice.top_p:g}"))
    alone = choice.top_k == 1 and any(greedy_siblings(recipe))  # another rule says that such siblings are equal
    if choice.temperature > 0 and choice.top_k is not None and not alone:
        cuts.append((node.where("top_k"), f"top_k {choice.top_k}"))
    return cuts
