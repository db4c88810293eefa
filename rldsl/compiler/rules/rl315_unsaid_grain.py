"""RL315: a correction whose grain was not written, beside a ratio with one value per response.

A token's κ times the gradient of a whole response is neither the token's correction nor the response's. Both are
used, under one name: the recipe has to say which. Corrections with one grain only are not asked.
Source: Liu et al., "When speed kills stability" (2025), token-level against sequence-level importance sampling.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import OWN_GRAIN, RESPONSE_TERM
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, said
from ..recipe import Recipe
from ..settings import hints
from ..typehints import words

CODE = "RL315"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each correction that leaves its grain to the default."""
    for node in giving(recipe, OWN_GRAIN) if RESPONSE_TERM in recipe.ratio.choice.gives else ():
        grain = node.choice.decided_by[OWN_GRAIN]
        if grain not in node.spans:
            ways = ", ".join(f"{grain}: {word}" for word in words(hints(type(node.choice))[grain]))
            yield clash(
                CODE, recipe, f"{said(recipe.ratio)} is one number for a response, and {said(node)} does not say "
                "whether it corrects tokens or responses.",
                (node.span, f"no `{grain}`: {getattr(node.choice, grain)} by default"),
                (recipe.ratio.span, "one ratio per response"),
                why="Per token and per response it is another weight: two tokens with κ = 1.5 weigh 1.5 each, or "
                    "2.25 together.",
                fix=f"Write the one that is meant: {ways}.")
