"""Leave out responses whose whole contribution is exactly zero: an all-equal group needs no forward at all."""

from __future__ import annotations

from dataclasses import dataclass

from rldsl.algebra.expr import GRAINS, RESPONSE, Const, Expr
from rldsl.algebra.grain import scope, substitute
from rldsl.algebra.simplify import is_zero
from rldsl.algebra.variables import ADVANTAGE

from ..graph import Graph
from ..objective import Objective
from .note import Note


@dataclass(frozen=True)
class ZeroRows:
    """Skips rows with advantage 0 where every term is then 0 by the algebra's laws.

    Rows stay when a critic or any regulariser still reads them, or when a term looks beyond one response. Their
    place in every denominator stays, because weights are fixed before rows are left out.
    """

    name: str = "zero_rows"

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """See `Pass`."""
        terms = [objective.policy, *(r.expr for r in objective.regularisers)]
        if graph.node("update").options["critic"] or not all(_vanishes(t) for t in terms):
            return objective, graph, None
        graph = graph.change("update", options={"skip_zero_rows": True})
        return objective, graph, Note(self.name, "responses with advantage 0 skip forward and backward; they keep "
                                                 "their place in the denominators")


def _vanishes(term: Expr) -> bool:
    alone = GRAINS.index(scope(term)) <= GRAINS.index(RESPONSE)
    return alone and is_zero(substitute(term, {ADVANTAGE.name: Const(0.0)}))
