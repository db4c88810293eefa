"""RL201: a choice looks at a source of the feedback that the recipe does not have.

Source: the language reference, sampling: `by` names a term of the feedback.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.base import Source, Wrapping
from rldsl.diagnostics import Diagnostic
from rldsl.diagnostics.suggest import did_you_mean

from ..clash import clash
from ..facts import reads, said
from ..objective import labelled
from ..recipe import Recipe, feedback_nodes

CODE = "RL201"
SCORE = "score."


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each name that no source has."""
    sources = [n for n in feedback_nodes(recipe.feedback) if isinstance(n.choice, Source)]
    known = [label for _, label in labelled(sources)]
    for node in (n for n in recipe.nodes() if not isinstance(n.choice, Wrapping)):
        for name in sorted(v.removeprefix(SCORE) for v in reads(recipe, node) if v.startswith(SCORE)):
            if name not in known:
                yield clash(
                    CODE, recipe, f"{said(node)} looks at a source `{name}`, and the feedback has none of that name.",
                    (node.span, "no such source"),
                    *([(recipe.axis_spans["feedback"], "the sources")] if "feedback" in recipe.axis_spans else ()),
                    why="There would be no score to look at.", fix=did_you_mean(name, known))
