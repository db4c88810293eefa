"""RL335: a reward that is 0 for every response, because every term of it weighs 0.

The advantage is then 0 for ever and nothing else of the objective has a gradient.
Source: arithmetic; the all-equal group of DAPO (arXiv:2503.14476), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.algebra.expr import Const, Expr
from rldsl.algebra.grain import substitute
from rldsl.algebra.simplify import is_zero
from rldsl.algebra.variables import ADVANTAGE, REWARD, SCORES, TOKEN_REWARD
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import reads, said, stated, weighed
from ..recipe import Recipe

CODE = "RL335"
NOTHING: dict[str, Expr] = {v.name: Const(0.0) for v in (REWARD, TOKEN_REWARD, SCORES)}


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding; a regulariser that is not 0 still trains."""
    terms, estimator = list(weighed(recipe.feedback)), recipe.advantage[0]
    if not terms or any(weight for _, weight, _ in terms) or ADVANTAGE.name not in reads(recipe, recipe.gate):
        return
    dead = all(is_zero(substitute(e, NOTHING)) for e in stated(recipe, estimator))
    if dead and all(is_zero(e) for n in recipe.regularisers for e in stated(recipe, n)[:1]):
        places = dict.fromkeys(span for _, _, span in terms)
        yield clash(
            CODE, recipe, f"Every term of the reward weighs 0, so {said(estimator)} is 0 for every response.",
            *((span, "weighs 0") for span in places), (estimator.span, "of a reward that is always 0"),
            why="Nothing of the objective has a gradient: the run would train on nothing.",
            fix="Give one of the terms a weight other than 0.")
