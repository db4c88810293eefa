"""After another estimator: a failed trajectory does not push down what came before its first marked error.

Differs from `step_gae`: no value is estimated; a single credible boundary protects the useful prefix.
Exact: A' = max(A, 0) on the tokens before the first marked one, A from there on; a response without a mark is
unchanged.
Source: the seeds' first-error cut; PivotRL and TreeRL (arXiv:2506.11902) cut at such points.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, both, gt, lt, maximum, total, where
from rldsl.algebra.units import so_far
from rldsl.algebra.variables import ERROR
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_ADVANTAGE


class FirstErrorCut(AdvantageStage):
    gives = {TOKEN_ADVANTAGE}

    def transform(self, advantage: Expr) -> Expr:
        before = both(gt(total(ERROR, RESPONSE), 0.0), lt(so_far(ERROR), 1.0))
        return where(before, maximum(advantage, 0.0), advantage)


EXAMPLES = [Example("the error is the third token", {},
                    [tokens(1, 1, 1, 1, reward=-1.0, errors=[0, 0, 1, 0]), tokens(1, 1, reward=-1.0, errors=[0, 0])],
                    {"advantage": [[0.0, 0.0, -1.0, -1.0], [-1.0, -1.0]]})]
