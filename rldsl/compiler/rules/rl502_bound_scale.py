"""RL502: a bound on the scale of another ratio.

The length-normalised ratio of a whole response stays within a few thousandths of 1, a token's within some tenths; that
of a turn or step lies between them, by its length.
Source: GSPO (arXiv:2507.18071), section 5.1: 3e-4 and 4e-4 where GRPO uses 0.2 and 0.27.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import PART_SCALE, RATIO, SEQUENCE_SCALE
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import said
from ..recipe import Recipe

CODE = "RL502"
WIDE = 0.05
"""A bound from here on is hardly ever met by a length-normalised ratio."""
NARROW = 0.005
"""A bound up to here is met by almost every token."""


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for a gate whose bounds all belong to the other scale."""
    gate, bounds = recipe.gate, recipe.gate.choice.bounds()
    sequence = SEQUENCE_SCALE in recipe.ratio.choice.gives
    if not bounds or RATIO not in recipe.ratio.choice.gives or PART_SCALE in recipe.ratio.choice.gives:
        return
    if (min(bounds.values()) < WIDE) if sequence else (max(bounds.values()) > NARROW):
        return
    shown = ", ".join(f"{name} {value:g}" for name, value in bounds.items())
    written = [name for name in bounds if name in gate.spans] or list(bounds)
    yield clash(
        CODE, recipe, f"{said(gate)} bounds {said(recipe.ratio)} with {shown}, which is the scale of "
        f"{'single tokens' if sequence else 'whole responses'}.",
        *((gate.where(name), f"{name} {bounds[name]:g}") for name in written),
        (recipe.ratio.span, "a mean per response, within thousandths of 1" if sequence else "within tenths of 1"),
        why="Averaging over a response shrinks the log-ratio by its length: " + (
            "such a bound is hardly ever met." if sequence else "such a bound is met by almost every token."),
        fix="Bounds of about 3e-4 fit a length-normalised ratio." if sequence else
            "Bounds of about 0.2 fit the ratio of a token.",
        severity="warning")
