"""RL512: a model's score is the reward, and nothing looks for responses that only please the model.

Source: the seed systems put a detector of hacks beside every judge (MiMo, Kimi, StepFun set the reward of a hack to 0).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Veto
from rldsl.axes.traits import JUDGED
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, said
from ..recipe import Recipe

CODE = "RL512"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for the first judged source."""
    judged = giving(recipe, JUDGED)
    if judged and not any(isinstance(n.choice, Veto) for n in recipe.nodes()):
        yield clash(
            CODE, recipe, f"{said(judged[0])} is a model's opinion, and nothing looks for responses that only please "
            "it.", (judged[0].span, "a model's score"),
            why="A policy that is trained on a judge learns what the judge overlooks.",
            fix=f"Add a detector whose finding leaves nothing of the score: {names('feedback', Veto)}.",
            severity="warning")
