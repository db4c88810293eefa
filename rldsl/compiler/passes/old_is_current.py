"""With one update per batch, the old policy is the current one at the moment the update reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rldsl.algebra.expr import GRAINS, RESPONSE, Const, Expr, sg
from rldsl.algebra.grain import scope, substitute
from rldsl.algebra.simplify import simplify
from rldsl.algebra.variables import LOGP, LOGP_OLD

from ..graph import Graph
from ..lower import names, rewire
from ..objective import Objective
from .note import Note

OLD = LOGP_OLD.name
FORWARD = "logprob.old"


@dataclass(frozen=True)
class OldIsCurrent:
    """Puts sg(logp_current) where logp_old stood and drops the forward that computed it.

    Exact when there is one update per batch and nothing that is fixed before the update reads logp_old. A
    correction may: it moves into the gated term as a constant factor, if a response is enough to compute it.
    """

    name: str = "old_is_current"

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """See `Pass`."""
        if graph.node(FORWARD) is None or not _exact(objective, graph):
            return objective, graph, None
        objective = _rewrite(objective)
        graph = rewire(graph.without([FORWARD]), objective)
        return objective, graph, Note(
            self.name, "one update per batch: the old policy is the current one, so logp_old is the update's own "
            "log-prob with its gradient stopped", (FORWARD,))


def _exact(o: Objective, graph: Graph) -> bool:
    options = graph.node("update").options
    fixed = [o.reward, o.token_reward, o.advantage, o.value_target, o.counted, o.weight, o.live,
             *(n.expr for n in (*o.keeps, *o.leaves_first, *o.leaves_later)), *(c.next for c in o.state)]
    movable = OLD not in names([o.correction]) or GRAINS.index(scope(o.correction)) <= GRAINS.index(RESPONSE)
    return options["updates_per_batch"] * options["epochs"] == 1 and OLD not in names(fixed) and movable


def _rewrite(o: Objective) -> Objective:
    policy, correction = _current(o.policy), o.correction
    if OLD in names([correction]):
        policy, correction = sg(_current(correction)) * policy, Const(1.0)
    return replace(o, policy=simplify(policy), correction=correction,
                   ratio=None if o.ratio is None else _current(o.ratio),
                   regularisers=tuple(replace(r, expr=_current(r.expr)) for r in o.regularisers))


def _current(e: Expr) -> Expr:
    return simplify(substitute(e, {OLD: sg(LOGP)}))
