"""What one process cannot run, said before anything is loaded; imports no torch."""

from __future__ import annotations

from rldsl.compiler.recipe import Recipe
from rldsl.diagnostics import Diagnostic, RecipeError

from .capability import apart


def refuse(recipe: Recipe) -> None:
    """RecipeError RL406 for a recipe that needs more than one process."""
    needs = [told for node in recipe.nodes() if (told := apart(node.choice))]
    if recipe.settings.cluster.where != "local":
        needs.append("its cluster block asks for several machines")
    if needs:
        raise RecipeError([Diagnostic(
            "RL406", f"the local backend cannot run `{recipe.name}`: {'; '.join(needs)}",
            why="it samples and trains in turn, in one process, with one set of weights",
            fix="choose a schedule and a placement that take turns, and cluster { local }")])
