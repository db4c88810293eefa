"""RL204: a part of the policy in which no layer lies, so that nothing would be trained.

A model whose layers are not known refuses nothing here; the run does, once it has read them.
Source: the definition of the part, layers whose middle (l + ½)/n lies in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import model_facts, plural
from ..recipe import Recipe
from ..shapes import parts
from ..trained_part import layers_in

CODE = "RL204"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    part, model = recipe.settings.optim.layers, model_facts(recipe, parts)
    if part is None or model is None or layers_in(model.layers, part):
        return
    count = plural(model.layers, "layer")
    yield clash(
        CODE, recipe, f"optim.layers is {part.low:g}..{part.high:g}, and none of {count} has its middle there.",
        (recipe.where("optim.layers"), "no layer"), (recipe.where("model.policy"), count),
        why="Nothing would be trained.", fix=f"Choose a wider part: each layer is {1 / model.layers:.3g} of the stack.")
