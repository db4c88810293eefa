"""RL301: statistics over siblings where a prompt has only one response.

With one response R − mean(R) is 0 for ever, and a standard deviation is 0: the run trains on nothing.
Source: the definition of group statistics in DeepSeekMath (arXiv:2402.03300), section 4.1.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields

from rldsl.axes.base import Estimator, Sampler
from rldsl.axes.traits import GROUP_OUTCOMES, SIBLINGS
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..equal_rewards import teaches_alone
from ..facts import giving, names, needing, place, said, sampler, signals
from ..offers import closest, fits
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
            why=_why(node), fix=f"{remedy(recipe)}{_alternatives(recipe)}.")


def _comparing(recipe: Recipe) -> list[Node]:
    return [n for n in needing(recipe, SIBLINGS) if GROUP_OUTCOMES not in n.choice.gives]


def _why(node: Node) -> str:
    if isinstance(node.choice, Estimator) and teaches_alone(node.choice):
        return "Without siblings nothing is compared with what they earned: what remains is another estimator than " \
            "the one that is named."
    return "A response is compared with its siblings: alone it equals their mean, so its advantage is 0 for ever."


def _alternatives(recipe: Recipe) -> str:
    """The estimators that the recipe would take instead; nothing where the advantage is not all that compares."""
    if any(n is not recipe.advantage[0] for n in _comparing(recipe)):
        return ""
    found = fits(recipe, "advantage", Estimator, lambda c: SIBLINGS not in c.needs and signals(recipe, c), SIBLINGS)
    return f", or choose an advantage that takes one response: {', '.join(found)}" if found else ""


def remedy(recipe: Recipe) -> str:
    """How to get siblings: the sampler's own number of them, or another sampler."""
    own = sampler(recipe).decided_by.get(SIBLINGS)
    if own is not None and isinstance(getattr(sampler(recipe), own), int):
        return f"Write {own}: 2 or more in {said(recipe.sampling[0])}"
    listed = closest(recipe, "sampling", Sampler, _gives_siblings, SIBLINGS)
    offered = ", ".join(listed) or names("sampling", Sampler, gives=SIBLINGS)
    return f"Sample at least 2 responses to each prompt with {offered}"


def _gives_siblings(choice: Sampler) -> bool:
    """Whether a sampler gives siblings, and must be told nothing but how many and how long."""
    needed = {f.name for f in fields(choice) if f.default is MISSING}
    return SIBLINGS in choice.gives and needed <= {choice.decided_by.get(SIBLINGS), "max_tokens"}
