"""RL316: the sampler's routes are to be repeated, and the model routes nothing.

A dense model sends every token through the same weights. A model that is not known here refuses nothing.
Source: rollout routing replay, R3 (arXiv:2510.11370), section 3: routes are those of a mixture of experts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rldsl.axes.traits import ROUTING_REPLAY
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, model_facts, place, said
from ..recipe import Recipe
from ..shapes import experts_of, shape

CODE = "RL316"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """A finding for each choice that repeats routes, where the policy is known to be dense."""
    if not model_facts(recipe, _dense):
        return
    for node in giving(recipe, ROUTING_REPLAY):
        yield clash(
            CODE, recipe, f"{said(node)} repeats the experts that tokens were routed to, and "
            f"{recipe.settings.model.policy} is a dense model.",
            (place(node, ROUTING_REPLAY), "repeats routes"), (recipe.where("model.policy"), "has no router"),
            why="Every token passes the same weights in both engines: there is no choice to repeat.",
            fix=f"Leave {said(node)} out, or train a mixture of experts.")


def _dense(policy: str, base: Path) -> bool | None:
    return True if shape(policy, base) is not None and not experts_of(policy, base) else None
