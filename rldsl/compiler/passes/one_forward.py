"""Read every quantity of the current policy from one forward: log-prob, entropy, exact KL."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Graph
from ..objective import Objective
from .note import Note


@dataclass(frozen=True)
class OneForward:
    """The logits of one forward give the log-prob, the entropy and the KL alike."""

    name: str = "one_forward"

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """See `Pass`."""
        wants = graph.node("update").options["wants"]
        if len(wants) == 1:
            return objective, graph, None
        graph = graph.change("update", options={"one_forward": True})
        return objective, graph, Note(self.name, f"{' and '.join(wants)} come from one forward of the update")
