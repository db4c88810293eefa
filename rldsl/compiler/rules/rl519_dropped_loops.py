"""RL519: trajectories of several turns that hit a limit leave the loss.

In one answer a limit cuts thinking short. Over many turns it mostly ends a loop: the same search, the same edit, the
same failing test. Without these trajectories nothing teaches the policy to stop looping.
Source: DAPO (arXiv:2503.14476), section 3.4, on single answers; DeepSWE drops them in multi-turn training and reports
the policy's habit of going on after a correct patch.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Reward, RewardFilter
from rldsl.axes.traits import MULTI_TURN, TRUNCATION_RULE
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, place, said
from ..recipe import Recipe

CODE = "RL519"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One warning for each filter."""
    for environment in giving(recipe, MULTI_TURN)[:1]:
        for node in (n for n in giving(recipe, TRUNCATION_RULE) if isinstance(n.choice, RewardFilter)):
            yield clash(
                CODE, recipe, f"{said(node)} takes trajectories that hit a limit out of the loss, and those of "
                f"{said(environment)} mostly hit it in a loop.",
                (place(node, TRUNCATION_RULE), "drops them"), (place(environment, MULTI_TURN), "several turns"),
                why="A loop that is never trained on is never unlearned.",
                fix="Nothing, if the limit is known to cut good work; else give them a score, as "
                    f"{names('feedback', Reward, gives=TRUNCATION_RULE)} do.", severity="warning")

