"""RL322: a preference loss without judged responses, or a policy gradient on pairs of which one is preferred.

Source: DPO (arXiv:2305.18290), equation 7, which is over (prompt, preferred, other).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import PAIR
from rldsl.algebra.grain import grains
from rldsl.algebra.variables import CHOSEN
from rldsl.axes.base import Gate, Sampler
from rldsl.axes.traits import COMPARES, STORED
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said, sampler, written
from ..lower import names as read
from ..offers import closest, fitting
from ..recipe import Recipe

CODE = "RL322"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    formulas, source = written(recipe, recipe.gate), recipe.sampling[0]
    paired = any(PAIR in grains(e) for e in formulas)
    judged = CHOSEN.name in read(formulas)
    has_pairs, has_verdicts = PAIR in sampler(recipe).divides(), CHOSEN.name in sampler(recipe).provides()
    if (paired and not has_pairs) or (judged and not has_verdicts):
        what = "pairs of which one is preferred" if paired else "responses that are judged good or bad"
        yield clash(
            CODE, recipe, f"{said(recipe.gate)} compares {what}, and {said(source)} gives none.",
            (recipe.gate.span, f"needs {what}"), (source.span, "no judgements"),
            why="Its loss would have nothing to compare.",
            fix=f"Take the responses from a data set: {_judged(recipe, paired)}.")
    elif has_pairs and not judged:
        yield clash(
            CODE, recipe, f"{said(recipe.gate)} reads no preference, and {said(source)} gives pairs of which one is "
            "preferred.",
            (recipe.gate.span, "treats both responses alike"), (source.span, "pairs"),
            why="The responses were written by nobody here: raising or lowering both of a pair is no policy gradient.",
            fix=f"Choose a gate that compares the two: {fitting(recipe, 'gate', Gate, gives=COMPARES)}.")


def _judged(recipe: Recipe, paired: bool) -> str:
    """The samplers whose stored responses are judged in this way, with the word that makes them so."""
    def right(choice: Sampler) -> bool:
        stored = choice.stored()
        return stored is not None and (stored.pairs if paired else stored.label is not None)

    return ", ".join(closest(recipe, "sampling", Sampler, right, STORED))
