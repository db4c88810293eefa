"""RL328: bit-equal log-probs are asked for, and the layout adds numbers in another order.

Tensor parallelism sums partial products over devices. Where the two engines are split differently, the sums run in
another order, and float addition is not associative.
Source: He et al., "Defeating nondeterminism in LLM inference" (2025).
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import BIT_EQUAL
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, place, plural, said
from ..recipe import Recipe

CODE = "RL328"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding, about layouts that differ between sampling and training."""
    cluster, nodes = recipe.settings.cluster, giving(recipe, BIT_EQUAL)
    if not nodes or cluster.tensor == cluster.rollout_tensor:
        return
    trained, sampled = plural(cluster.tensor, "part"), plural(cluster.rollout_tensor, "part")
    yield clash(
        CODE, recipe, f"{said(nodes[0])} asks for bit-equal log-probs, and training makes each product of {trained}, "
        f"sampling of {sampled}.",
        (place(nodes[0], BIT_EQUAL), "asks for equal bits"), (recipe.where("cluster.tensor"), trained),
        (recipe.where("cluster.rollout_tensor"), sampled),
        why="Partial sums are added in another order, and float addition is not associative.",
        fix="Write the same number for cluster.tensor and cluster.rollout_tensor, or correct for the mismatch instead.")
