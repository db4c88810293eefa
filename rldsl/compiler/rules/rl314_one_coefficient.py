"""RL314: one ratio for a whole response under advantages that differ inside it.

The ratio is one number per response, and so is the gated term: what the tokens' own advantages say is averaged away.
Source: GSPO (arXiv:2507.18071), section 4.3, which introduces the token variant for exactly this case.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Estimator, Ratio
from rldsl.axes.traits import RATIO, RESPONSE_TERM, TOKEN_ADVANTAGE
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, said, signals
from ..offers import closest, fitting
from ..recipe import Recipe

CODE = "RL314"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that makes advantages differ between the tokens of a response."""
    if RESPONSE_TERM not in recipe.ratio.choice.gives:
        return
    for node in giving(recipe, TOKEN_ADVANTAGE):
        yield clash(
            CODE, recipe, f"{said(recipe.ratio)} gives a response one ratio, and the advantages of "
            f"{said(node)} differ from token to token.",
            (recipe.ratio.span, "one coefficient for all tokens"), (place(node, TOKEN_ADVANTAGE), "one for each token"),
            why="The gradient of every token would be the response's average: the differences are lost.",
            fix="Take a ratio of its own for every token "
                f"({fitting(recipe, 'ratio', Ratio, gives=RATIO, never_gives=RESPONSE_TERM)}), or an advantage of one "
                f"value per response ({_even(recipe)}).")


def _even(recipe: Recipe) -> str:
    return ", ".join(closest(recipe, "advantage", Estimator, lambda c: TOKEN_ADVANTAGE not in c.gives and signals(
        recipe, c), TOKEN_ADVANTAGE))
