"""RL516: a value that its source does not publish, filled in by the recipe.

`evidence { unpublished: […] }` names such values by their paths. Who sets one of them since, or replaces the choice it
belongs to, has made it a value of their own, and is told nothing. A path that leads nowhere is RL207.
Source: reproducing a method needs its numbers: Henderson et al. (arXiv:1709.06560), section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic, Span
from rldsl.diagnostics.suggest import did_you_mean

from ..clash import clash, layer
from ..recipe import Recipe

CODE, ABSENT = "RL516", "RL207"
MARK = "evidence.unpublished"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for the values that still stand in, and one for each path that leads nowhere."""
    told, standing = recipe.where(MARK), []
    for path in recipe.settings.evidence.unpublished:
        place = path.partition(".")[0]
        if layer(recipe, recipe.axis_spans.get(place, told)) > layer(recipe, told):
            continue
        if path not in recipe.origins:
            yield _nowhere(recipe, path, told)
        elif layer(recipe, recipe.where(path)) <= layer(recipe, told):
            standing.append(path)
    if standing:
        shown = ", ".join(f"{path} {recipe.origins[path][-1].value}" for path in standing)
        yield clash(
            CODE, recipe, f"The source of `{recipe.name}` does not publish every value, and these stand in: {shown}.",
            (told, "unpublished"), *((span, "a stand-in") for path in standing
                                     if (span := recipe.where(path)) != recipe.span),
            why="A result of this recipe is not the published one, and a bad one says nothing about the method.",
            fix="Set the values that you have reasons for; a sweep finds some.", severity="warning")


def _nowhere(recipe: Recipe, path: str, told: Span) -> Diagnostic:
    return clash(
        ABSENT, recipe, f"The recipe has no value `{path}` that could be unpublished.", (told, "names it"),
        why="A mark on nothing would be believed to mark something.",
        fix=did_you_mean(path, recipe.origins) or "Leave it out.")
