"""RL208: a setting that the recipe itself writes and that its combination of choices never reads.

What an ancestor wrote for its own choices may stay behind when a child replaces them: it cannot be unwritten.
Source: options that are accepted and do nothing are the most reported silent failure of the frameworks in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rldsl.algebra.variables import KL_EXACT, LOGP_REF, VALUE
from rldsl.axes.base import Estimator
from rldsl.axes.traits import VALUES
from rldsl.diagnostics import Diagnostic, Span

from ..clash import clash
from ..facts import giving, mentions, names
from ..recipe import Recipe

CODE = "RL208"


@dataclass(frozen=True)
class Unread:
    """Settings without a reader: those whose path begins with `prefix`, less `but`; `reader` is what would read them."""

    prefix: str
    reader: str
    but: tuple[str, ...] = ()


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each group of settings that nothing reads."""
    for group in _unread(recipe):
        written = {path: span for path in recipe.origins if path.startswith(group.prefix) and path not in group.but
                   if (span := _own(recipe, path))}
        if written:
            what = next(iter(written)) if len(written) == 1 else group.prefix.rstrip(".")
            yield clash(
                CODE, recipe, f"`{what}` has no effect here: nothing in this recipe reads it.",
                *((span, "nothing reads it") for span in written.values()),
                why="A setting without effect looks as if it were at work.",
                fix=f"Leave it out; what would read it is {group.reader}.")


def _unread(recipe: Recipe) -> Iterator[Unread]:
    settings, nodes = recipe.settings, tuple(recipe.nodes())
    if not giving(recipe, VALUES) and not any(mentions(recipe, n, VALUE.name) for n in nodes):
        yield Unread("critic.", "an advantage that reads a critic's values: "
                     + names("advantage", Estimator, gives=VALUES))
    if not any(mentions(recipe, n, LOGP_REF.name, KL_EXACT.name) for n in nodes):
        yield Unread("model.reference", "a KL to the reference policy")
    if not settings.evaluate.tasks:
        yield Unread("evaluate.", "a task in the `evaluate` block", ("evaluate.tasks",))
    if settings.track.mlflow is None:
        yield Unread("track.experiment", "track.mlflow")


def _own(recipe: Recipe, path: str) -> Span | None:
    """Where the recipe itself, its profile or `--set` wrote a setting; None where nobody or an ancestor did."""
    last = recipe.origins[path][-1] if recipe.origins[path] else None
    own = last and (last.how == "--set" or last.recipe.partition(":")[0] == recipe.name)
    return last.span if own else None
