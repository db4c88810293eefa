"""Cut an update into micro-batches of about equal token counts, not equal row counts."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Graph
from ..objective import Objective
from .note import Note


@dataclass(frozen=True)
class Balance:
    """Weights are fixed over the whole update, so how it is cut cannot change the result."""

    name: str = "balance"

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """See `Pass`."""
        for node in graph.nodes:
            if "balance" in node.options:
                graph = graph.change(node.id, options={"balance": True})
        return objective, graph, Note(self.name, "micro-batches are balanced by tokens")
