"""Drop every forward whose numbers nobody reads: a coefficient of 0 needs no reference model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rldsl.algebra.simplify import is_zero

from ..graph import REFERENCE_WEIGHTS, Graph, Node
from ..lower import names, rewire
from ..objective import Objective
from .note import Note


@dataclass(frozen=True)
class Unread:
    """Removes regularisers that are exactly zero, then log-prob and value passes without a reader. A ratio that only
    reports would read is no reader, and is not reported."""

    name: str = "unread"

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """See `Pass`."""
        kept = tuple(r for r in objective.regularisers if not is_zero(r.expr))
        zero = [r.name for r in objective.regularisers if r not in kept]
        objective = replace(objective, regularisers=kept)
        rewired = rewire(graph, objective)
        needless = [n for n in rewired.nodes if n.kind in ("logprob", "value") and not _read(rewired, n)]
        pruned = rewired.without(n.id for n in needless)
        gone = {name for n in needless for name in n.writes}
        if objective.ratio is not None and gone & names([objective.ratio]):
            objective = replace(objective, ratio=None)
        if not zero and pruned == graph:
            return objective, graph, None
        return objective, pruned, Note(self.name, _sentence(zero, needless, graph, pruned),
                                       tuple(n.id for n in needless))


def _read(graph: Graph, node: Node) -> bool:
    return any(graph.readers(name) for name in node.writes)


def _sentence(zero: list[str], needless: list[Node], before: Graph, after: Graph) -> str:
    said = [f"{name} is exactly zero and left out" for name in zero]
    said += [f"nobody reads {' and '.join(n.writes)}, so {n.id} does not run" for n in needless]
    dropped = [w for w in before.node("update").options["wants"] if w not in after.node("update").options["wants"]]
    said += [f"the update does not compute {w}" for w in dropped]
    if before.readers(REFERENCE_WEIGHTS) and not after.readers(REFERENCE_WEIGHTS):
        said.append("no reference model is loaded")
    return "; ".join(said)
