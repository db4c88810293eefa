"""RL515: a low-rank addition that is rounded away: it is added to weights that are then used in bfloat16.

Source: bfloat16 keeps 8 bits of a number, so an addition below about 1/256 of a weight changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..recipe import Recipe

CODE = "RL515"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    model, optim = recipe.settings.model, recipe.settings.optim
    if optim.lora_rank is not None and model.dtype == "bfloat16":
        yield clash(
            CODE, recipe, "The low-rank addition is merged into weights of bfloat16, which keep 8 bits.",
            (recipe.where("optim.lora_rank"), "a small addition"), (recipe.where("model.dtype"), "coarse weights"),
            why="What is smaller than about 1/256 of a weight is rounded away: sampler and trainer do not see it.",
            fix="Write model { dtype: float32 }, or train the weights themselves.", severity="warning")
