"""RL510: a recipe that is to be compared with its baseline changes it on more than one axis.

A gain then belongs to the changes together. Read off the recipes it was built from, so a baseline that is none of its
parents is not looked at.
Source: the one-factor ablations of DAPO (arXiv:2503.14476), table 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rldsl.axes import discover
from rldsl.diagnostics import Diagnostic, Span

from ..clash import clash
from ..recipe import Recipe

CODE = "RL510"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """At most one finding."""
    baseline = recipe.settings.evidence.baseline
    changed = changed_since(recipe, baseline) if baseline is not None else {}
    if len(changed) > 1:
        axes = list(changed)
        yield clash(
            CODE, recipe, f"`{recipe.name}` differs from its baseline `{baseline}` on {len(axes)} axes: "
            f"{', '.join(axes)}.", (recipe.where("evidence.baseline"), "what it is compared with"),
            *((span, f"another {axis}") for axis, span in changed.items()),
            why="A gain could not be attributed to any one of them.",
            fix="Compare along a chain in which each recipe changes one axis of the one before.", severity="warning")


def changed_since(recipe: Recipe, parent: str) -> Mapping[str, Span]:
    """{axis: where it was last written} for each axis that was written after the layer of a parent recipe; empty
    where no layer is that recipe's."""
    since = [i for i, (_, name) in enumerate(recipe.layers) if name == parent]
    later = {layer for i, layer in enumerate(recipe.layers) if since and i > since[-1]}
    found = {}
    for path, history in recipe.origins.items():
        axis, wrote = path.partition(".")[0], [s for s in history if s.span and (s.how, s.recipe) in later]
        if axis in discover.AXES and wrote and wrote[-1].value != _before(history, later):
            found.setdefault(axis, wrote[-1].span)
    return {axis: found[axis] for axis in discover.AXES if axis in found}


def _before(history: tuple, later: set) -> str | None:
    earlier = [s.value for s in history if (s.how, s.recipe) not in later]
    return earlier[-1] if earlier else None
