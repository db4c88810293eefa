"""Metrics as sums with their weights, so that a mean over pieces is the mean over the whole."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tally:
    """{name: [sum, weight]}. A metric with weight 0 has no value and is left out."""

    sums: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, total: float, weight: float = 1.0) -> None:
        """Adds `total`, the sum of a quantity over `weight` units."""
        entry = self.sums.setdefault(name, [0.0, 0.0])
        entry[0] += total
        entry[1] += weight

    def include(self, other: Tally) -> None:
        """Adds everything in another tally."""
        for name, (total, weight) in other.sums.items():
            self.add(name, total, weight)

    def means(self) -> dict[str, float]:
        """Sum over weight of every metric."""
        return {name: total / weight for name, (total, weight) in self.sums.items() if weight}
