"""How a gain divides among changes when all orders were run: Shapley values over the orders that compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

Subset = frozenset[str]


def shapley(value: Mapping[Subset, float], changes: Sequence[str]) -> tuple[dict[str, float], int] | None:
    """{change: its mean marginal gain over all orders} and how many orders that were; None where no order is complete.

    `value` holds what was measured at each subset of changes. An order counts if all its steps were measured; where
    every subset is there these are the Shapley values. They sum to value(all) − value(none).
    """
    every = frozenset(changes)
    subsets = [frozenset(c) for k in range(len(changes) + 1) for c in combinations(changes, k)]
    before, after = {}, {}
    for s in subsets:
        before[s] = int(s in value) * (1 if not s else sum(before[s - {x}] for x in s))
    for s in reversed(subsets):
        after[s] = int(s in value) * (1 if s == every else sum(after[s | {x}] for x in every - s))
    orders = before[every]
    if not orders:
        return None
    gains = {x: sum(before[s] * after[s | {x}] * (value[s | {x}] - value[s])
                    for s in subsets if x not in s and before[s] and after[s | {x}]) / orders for x in changes}
    return gains, orders
