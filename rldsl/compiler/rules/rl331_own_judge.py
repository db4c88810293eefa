"""RL331: a source asks the judge, and the judge is the policy that is being trained.

Source: a reward that moves with the policy can be raised by changing the judge instead of the responses; the
self-judging actors that are published say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.judging import ModelSource
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said
from ..recipe import Recipe

CODE = "RL331"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each source that asks the judge."""
    asking = [n for n in recipe.nodes() if isinstance(n.choice, ModelSource) and n.choice.asked().role == "judge"]
    for node in asking if recipe.settings.model.judge == "policy" else ():
        yield clash(
            CODE, recipe, f"{said(node)} asks the judge, and the judge is the policy that is trained.",
            (node.span, "asks the judge"), (recipe.where("model.judge"), "the policy"),
            why="The reward drifts with the policy: it rises where the judge becomes lenient, too.",
            fix="Name a model that is not trained as model.judge, or choose a source of the feedback that says that "
                "the policy judges itself, and with which weights.")
