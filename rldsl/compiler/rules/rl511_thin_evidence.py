"""RL511: a claim with one seed, or without a held-out evaluation.

Looked at where the recipe has an `evidence` block: it says that the run is to be compared with something.
Source: Henderson et al., "Deep reinforcement learning that matters" (arXiv:1709.06560), section 5, on seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..recipe import Recipe

CODE = "RL511"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    settings = recipe.settings
    claimed = [p for p in ("evidence.baseline", "evidence.seeds") if any(s.span for s in recipe.origins.get(p, ()))]
    lacks = ["one seed"] if settings.evidence.seeds == 1 else []
    lacks += ["no held-out evaluation"] if not settings.evaluate.tasks else []
    if claimed and lacks:
        yield clash(
            CODE, recipe, f"`{recipe.name}` is to be compared, with {' and '.join(lacks)}.",
            (recipe.where(claimed[-1]), "a comparison"),
            why="Runs of one recipe differ by their seed, often by more than two recipes do; and a reward on training "
                "prompts also grows by memorising them.",
            fix="Write " + " and ".join((["seeds: 3 in `evidence`"] if settings.evidence.seeds == 1 else [])
                                        + (["an `evaluate` block"] if not settings.evaluate.tasks else [])) + ".",
            severity="warning")
