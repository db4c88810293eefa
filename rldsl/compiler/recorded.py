"""Which metrics the runs of a recipe record, as far as the recipe decides it."""

from __future__ import annotations

from collections.abc import Callable

from rldsl.algebra.expr import Const
from rldsl.algebra.grain import variables
from rldsl.algebra.variables import ADVANTAGE, LOGP_OLD
from rldsl.axes.traits import CORRECTNESS, ROLLOUT_LOGPS, SIBLINGS, VALUES, Trait

from .formulas import formulas
from .recipe import Node, Recipe

Needs = tuple[str, Callable[[Recipe], bool], str]


def lacking(recipe: Recipe, metric: str) -> str | None:
    """What the recipe would need so that its runs record the metric, in words; None where they do."""
    return next((words for start, there, words in NEEDS if metric.startswith(start) and not there(recipe)), None)


def _given(trait: Trait) -> Callable[[Recipe], bool]:
    return lambda recipe: any(trait in n.choice.gives for n in recipe.nodes())


def _sampled(recipe: Recipe) -> bool:
    return ROLLOUT_LOGPS in recipe.sampling[0].choice.gives and recipe.sampling[0].choice.stored() is None


def _old_apart(recipe: Recipe) -> bool:
    """With one update per batch log π_old is the update's own log-prob, and no column of its own."""
    optim = recipe.settings.optim
    several = optim.updates_per_batch * optim.epochs > 1
    return several and _sampled(recipe) and any(_reads(recipe, n, LOGP_OLD.name) for n in recipe.nodes())


def _reads(recipe: Recipe, node: Node, name: str) -> bool:
    ratio = recipe.ratio.choice.ratio() or Const(1.0)
    return any(v.name == name for e in formulas(node.choice, ratio).values() for v in variables(e))


NEEDS: tuple[Needs, ...] = (
    ("critic/", _given(VALUES), "an advantage that learns a value function"),
    ("held_out/", lambda r: bool(r.settings.evaluate.tasks), "a task in the block `evaluate`"),
    ("correct/", _given(CORRECTNESS), "a feedback that measures correctness"),
    ("advantage/zero", lambda r: _reads(r, r.gate, ADVANTAGE.name), "a gate that reads the advantage"),
    ("entropy/sampled", _sampled, "responses that the policy samples at a temperature above 0"),
    ("prompts/information", _given(SIBLINGS), "several responses to the same prompt"),
    ("lora/", lambda r: r.settings.optim.lora_rank is not None and r.settings.model.dtype != "float32",
     "a low-rank addition (optim.lora_rank) to weights of bfloat16"),
    ("mismatch/", _sampled, "responses that the policy samples at a temperature above 0"),
    ("kappa/", _old_apart, "several updates per batch, and a ratio or a correction that reads the old policy"),
)
"""(the beginning of metrics' names, whether a recipe records them, what it takes)."""
