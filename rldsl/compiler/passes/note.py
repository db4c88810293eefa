"""What a pass is, and what it has to say for itself in `explain` and in the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..graph import Graph
from ..objective import Objective


@dataclass(frozen=True)
class Note:
    """One plain sentence, the pass it comes from, and the graph nodes that are gone because of it."""

    source: str
    sentence: str
    removed: tuple[str, ...] = ()


class Pass(Protocol):
    """Rewrites an objective and a graph without changing the result. No note means that nothing changed."""

    name: str

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """The new objective and graph, and what was done."""
