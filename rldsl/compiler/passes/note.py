"""What a pass has to say for itself, in `explain` and in the plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """One plain sentence, the pass it comes from, and the graph nodes that are gone because of it."""

    source: str
    sentence: str
    removed: tuple[str, ...] = ()
