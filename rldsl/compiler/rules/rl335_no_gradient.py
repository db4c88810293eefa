"""RL335: an objective without a gradient: an advantage that is always 0 under a gate that lives by it.

The advantage is 0 by itself, or because every term of the reward weighs 0; and no regulariser stands beside the gate.
Source: arithmetic; the all-equal group of DAPO (arXiv:2503.14476), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import Const, Expr
from rldsl.algebra.grain import substitute
from rldsl.algebra.simplify import is_zero
from rldsl.algebra.variables import REWARD, SCORES, TOKEN_REWARD
from rldsl.axes.base import Gate
from rldsl.axes.traits import OWN_SIGNAL
from rldsl.diagnostics import Diagnostic

from ..clash import Place, clash
from ..facts import lives_by_advantage, no_advantage, said, stated, weighed
from ..offers import fitting
from ..recipe import Recipe

CODE = "RL335"
NO_REWARD: dict[str, Expr] = {v.name: Const(0.0) for v in (REWARD, TOKEN_REWARD, SCORES)}


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; a regulariser that is not 0 still trains."""
    estimator, gate = recipe.advantage[0], recipe.gate
    why, places, fix = _cause(recipe)
    added = (e for n in recipe.regularisers for e in stated(recipe, n)[:1])
    if why and lives_by_advantage(recipe) and all(map(is_zero, added)):
        yield clash(
            CODE, recipe, f"Nothing here has a gradient: {said(estimator)} is 0 for every response{why}.",
            *places, (estimator.span, "always 0"), (gate.span, "0 where the advantage is 0"),
            why="The run would train on nothing.", fix=fix)


def _cause(recipe: Recipe) -> tuple[str, list[Place], str]:
    """Why the advantage is always 0, in words that go on a sentence, where, and what to do; nothing if it is not."""
    formulas, terms = stated(recipe, recipe.advantage[0]), list(weighed(recipe.feedback))
    if no_advantage(recipe):
        return " by definition", [], (
            "Choose an advantage that reads the reward, or what needs none: a gate with a signal of its own "
            f"({fitting(recipe, 'gate', Gate, gives=OWN_SIGNAL)}), or a regulariser that learns from what was right.")
    if terms and not any(weight for _, weight, _ in terms) and all(is_zero(substitute(e, NO_REWARD)) for e in formulas):
        places = [(span, "weighs 0") for span in dict.fromkeys(span for _, _, span in terms)]
        return ", because every term of the reward weighs 0", places, "Give one of the terms a weight other than 0."
    return "", [], ""
