"""RL513: a temperature other than 1, which training uses as well.

The sampled distribution is the policy that is trained: every log-prob is taken of logits / T.
Source: logits [2, 0] at T = 0.5 have log-prob -0.01815 for token 0, for sampling and training alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said, sampled, sampler
from ..recipe import Recipe

CODE = "RL513"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; temperature 0 has rules of its own."""
    node, temperature = recipe.sampling[0], sampler(recipe).temperature
    if temperature not in (0, 1):
        yield clash(
            CODE, recipe, f"{said(node)} samples at temperature {temperature:g}, and every log-prob of "
            "training is taken at that temperature too." if sampled(recipe) else
            f"{said(node)} has temperature {temperature:g}, at which every log-prob of training is taken.",
            (node.where("temperature"), "divides all logits"),
            why="What is sampled is what is trained: the rollout, old, current and reference log-probs share "
                "it." if sampled(recipe) else "The current, old and reference log-probs share it.",
            fix="Nothing, if this is meant; temperature: 1 trains the model's own "
                "distribution.", severity="warning")
