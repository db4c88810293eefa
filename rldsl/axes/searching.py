"""The base of searches: which points of a sweep are tried, where not all of them are."""

from __future__ import annotations

from typing import Any, Literal

from .choice import Choice
from .types import Count


class Search(Choice):
    """What a sweep's `search:` says. A trial is a point with all of its seeds, judged by their mean."""

    axis = "search"
    positional = 1
    trials: Count  # points that are tried, at most; the recipe's own is the first
    metric: str | None = None  # what is searched for; none: what the sweep compares
    goal: Literal["maximize", "minimize"] = "maximize"  # which way the metric is better

    def ends_early(self) -> bool:
        """Whether a trial may end before its runs do."""
        return False

    def strategy(self) -> tuple[str, dict[str, Any]]:
        """The class that proposes points, by dotted name "pkg.mod:Class", and its keyword arguments."""
        raise TypeError(f"{self.name} proposes nothing")
