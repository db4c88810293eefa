"""RL319: an environment of several turns, and no word on what its own failure is.

A container that dies or a page that does not load ends the trajectory without a score, or with one that says nothing
about the policy. Leaving it out and counting it as failed are both published; they teach different things.
Source: MiMo-V2 and GLM-5 technical reports leave it out, DeepSeek-V4.1 counts it as failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import FailureRule
from rldsl.axes.traits import MULTI_TURN
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, place, said
from ..recipe import Recipe, feedback_nodes

CODE = "RL319"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    environments = giving(recipe, MULTI_TURN)
    if not environments or any(isinstance(n.choice, FailureRule) for n in feedback_nodes(recipe.feedback)):
        return
    yield clash(
        CODE, recipe, f"{said(environments[0])} has an environment that can fail, and the feedback does not say what a "
        "failure of it counts for.",
        (place(environments[0], MULTI_TURN), "can fail by itself"),
        (recipe.axis_spans.get("feedback", recipe.span), "says nothing about failures"),
        why="0 for a crash teaches the policy that what it did was wrong; no score at all hides what it broke.",
        fix=f"Add one of {names('feedback', FailureRule)} to the feedback.")
