"""RL310: log-probs are read that sampling does not record, or that do not exist.

Temperature is one recipe value for every log-prob. At 0 the chosen token has probability 1 whatever the weights:
there is no density to compare and no gradient.
Source: the training-inference mismatch note of Yao et al. (2025), which needs μ as it was sampled.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_ROLLOUT, VERSION
from rldsl.axes.traits import ROLLOUT_LOGPS, SIBLINGS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, needing, place, reading, said, sampler
from ..recipe import Recipe
from .rl208_age import without_age

CODE = "RL310"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each reader of what was not recorded; at temperature 0, one for the recipe.

    Greedy siblings that are compared have a rule of their own, and so has what looks at an age that is always 0.
    """
    source = recipe.sampling[0]
    if giving(recipe, ROLLOUT_LOGPS):
        return
    idle = without_age(recipe)
    readers = [n for n in reading(recipe, LOGP_ROLLOUT.name, VERSION.name) if n not in idle]
    for node in readers:
        yield clash(
            CODE, recipe, f"{said(node)} reads what was recorded of every sampled token, and {said(source)} "
            "records no log-probs.",
            (node.span, "reads the log-prob of sampling"), (place(source, ROLLOUT_LOGPS), _label(recipe)),
            why="Without the probability a token was really sampled with, any ratio or mask over it is made "
                "up.",
            fix=f"{_remedy(recipe)}, or leave {said(node)} out.")
    compared = giving(recipe, SIBLINGS) and needing(recipe, SIBLINGS)
    if sampler(recipe).temperature == 0 and not readers and not compared:
        yield clash(
            CODE, recipe, f"{said(source)} has temperature 0, which leaves {said(recipe.gate)} no log-prob "
            "to train.",
            (place(source, ROLLOUT_LOGPS), _label(recipe)), (recipe.gate.span, "reads log π"),
            why="Temperature applies to every log-prob: at 0 the chosen token has probability 1, so its "
                "gradient is 0.",
            fix="Write temperature: 1; evaluation is a setting of its own.")


def _remedy(recipe: Recipe) -> str:
    if sampler(recipe).temperature == 0:
        return "Sample at a temperature above 0"
    return "Let the policy write the responses" if sampler(recipe).stored() else "Choose a sampler that records them"


def _label(recipe: Recipe) -> str:
    return "the greedy token has no density" if sampler(recipe).temperature == 0 else "records no log-probs"
