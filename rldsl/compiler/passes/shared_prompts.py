"""Compute a prompt once for all its responses."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Graph
from ..objective import Objective
from .note import Note


@dataclass(frozen=True)
class SharedPrompts:
    """Siblings read the same prompt, so one forward of it serves the group in every training-side pass."""

    name: str = "shared_prompts"

    def __call__(self, objective: Objective, graph: Graph) -> tuple[Objective, Graph, Note | None]:
        """See `Pass`."""
        siblings = graph.node("sample").options["siblings"]
        if siblings < 2:
            return objective, graph, None
        for node in graph.nodes:
            if "share_prompts" in node.options:
                graph = graph.change(node.id, options={"share_prompts": True})
        return objective, graph, Note(
            self.name, f"each prompt is computed once for its {siblings} responses, in every training-side pass")
