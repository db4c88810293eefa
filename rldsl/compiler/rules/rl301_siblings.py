"""RL301: statistics over siblings where a prompt has only one response.

With one response R − mean(R) is 0 for ever, and a standard deviation is 0: the run trains on nothing.
Source: the definition of group statistics in DeepSeekMath (arXiv:2402.03300), section 4.1.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, replace

from rldsl.axes import discover
from rldsl.axes.base import Estimator, Sampler
from rldsl.axes.traits import GROUP_OUTCOMES, SIBLINGS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving, names, needing, place, said, sampler
from ..recipe import Node, Recipe

CODE = "RL301"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """One finding for each choice that compares siblings; filters of groups have their own rule."""
    source = recipe.sampling[0]
    for node in () if giving(recipe, SIBLINGS) else _comparing(recipe):
        yield clash(
            CODE, recipe,
            f"{said(node)} on {node.choice.axis} needs at least 2 responses to each prompt, and "
            f"{said(source)} on sampling gives {sampler(recipe).siblings()}.",
            (place(node, SIBLINGS), "compares siblings"),
            (place(source, SIBLINGS), "1 response to each prompt"),
            why="A response is compared with its siblings: alone it equals their mean, so its advantage "
                "is 0 for ever.",
            fix=f"{remedy(recipe)}{_alternatives(recipe)}.")


def _comparing(recipe: Recipe) -> list[Node]:
    return [n for n in needing(recipe, SIBLINGS) if GROUP_OUTCOMES not in n.choice.gives]


def _alternatives(recipe: Recipe) -> str:
    """The estimators that the recipe would compile with, as they are called without arguments; or nothing."""
    found = []
    for name in discover.names("advantage"):
        cls = discover.find("advantage", name)
        if not issubclass(cls, Estimator) or any(f.default is MISSING for f in fields(cls)):
            continue
        other = replace(recipe, advantage=(Node(cls(), recipe.advantage[0].span),))
        if not _comparing(other) and _compiles(other):
            found.append(f"`{name}`")
    return f", or choose an advantage that takes one response: {', '.join(found)}" if found else ""


def _compiles(recipe: Recipe) -> bool:
    from ..check import check as check_all  # it imports the rules

    return not any(d.severity == "error" for d in check_all(recipe))


def remedy(recipe: Recipe) -> str:
    """How to get siblings: the sampler's own parameter, or another sampler."""
    own = sampler(recipe).decided_by.get(SIBLINGS)
    if own is not None:
        return f"Write {own}: 2 or more in {said(recipe.sampling[0])}"
    listed = ", ".join(_samplers(recipe)) or names("sampling", Sampler, gives=SIBLINGS)
    return f"Sample at least 2 responses to each prompt with {listed}"


def _samplers(recipe: Recipe) -> Iterator[str]:
    """The samplers that need a number of siblings and a limit, and that the recipe would compile with."""
    first, *stages = recipe.sampling
    for name in discover.names("sampling"):
        cls = discover.find("sampling", name)
        needed = {f.name for f in fields(cls) if f.default is MISSING}
        count = cls.decided_by.get(SIBLINGS)
        if issubclass(cls, Sampler) and count and needed <= {count, "max_tokens"}:
            choice = cls(**{count: 2, "max_tokens": first.choice.max_tokens})
            if _compiles(replace(recipe, sampling=(Node(choice, first.span), *stages))):
                yield f"`{name}`"
