"""RL514: two answers to one mismatch.

Where both engines give equal bits κ is 1 while data is fresh, so a correction by it multiplies by 1. Where one ratio
is taken per response, the jumps that other experts cause average out over its tokens: replaying routes buys little.
Source: GSPO (arXiv:2507.18071), section 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.variables import LOGP_ROLLOUT
from rldsl.axes.alignment import Alignment
from rldsl.axes.traits import BIT_EQUAL, RESPONSE_TERM, ROUTING_REPLAY
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, reads, said, stale
from ..recipe import Node, Recipe

CODE = "RL514"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """A warning for each pair of choices of which one leaves the other without work."""
    for node in giving(recipe, BIT_EQUAL) if not stale(recipe) else ():
        for other in recipe.distribution:
            if LOGP_ROLLOUT.name in reads(recipe, other):
                yield _idle(recipe, other, node, "corrects by κ", "makes κ equal to 1",
                            "Log-probs that are equal to the bit have κ = 1 for every token.")
    for node in giving(recipe, ROUTING_REPLAY):
        if RESPONSE_TERM in recipe.ratio.choice.gives:
            yield _idle(recipe, node, recipe.ratio, "repeats each token's route", "takes one ratio per response",
                        "What other experts change in single tokens averages out over the response.")
    yield from _wide_head(recipe)


def _idle(recipe: Recipe, idle: Node, by: Node, does: str, because: str, why: str) -> Diagnostic:
    return clash(CODE, recipe, f"{said(idle)} {does}, and {said(by)} {because}.", (idle.span, does),
                 (by.span, because), why=why, fix=f"Leave {said(idle)} out, unless the pair is what is studied.",
                 severity="warning")


def _wide_head(recipe: Recipe) -> Iterator[Diagnostic]:
    whole = recipe.settings.model.dtype
    for node in recipe.distribution:
        if isinstance(node.choice, Alignment) and node.choice.engines().get("head_dtype") == whole:
            yield clash(CODE, recipe, f"{said(node)} asks for {whole}, and the whole model is computed in it.",
                        (node.span, "asks for what there is"), (recipe.where("model.dtype"), whole),
                        why="model.dtype is the dtype of every matrix product, the last one among them.",
                        fix=f"Leave {said(node)} out, or compute the model in bf16.", severity="warning")
