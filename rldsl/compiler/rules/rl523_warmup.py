"""RL523: a warm-up that is longer than the training.

The learning rate then never reaches the value that is written, or the policy is never trained at all.
Source: the linear warm-up of Goyal et al. (arXiv:1706.02677), section 2.2, which ends long before training does.
"""

from __future__ import annotations

from collections.abc import Iterator

from rldsl.axes.traits import VALUES
from rldsl.diagnostics import Diagnostic

from ..clash import clash
from ..facts import giving
from ..recipe import Recipe

CODE = "RL523"


def check(recipe: Recipe) -> Iterator[Diagnostic]:
    """Up to two findings: the learning rate's warm-up, and the batches that train the critic alone."""
    settings = recipe.settings
    steps = settings.budget.steps
    if steps is None:
        return
    rate, alone = settings.optim.warmup_steps, settings.critic.warmup_steps
    if rate > steps:
        yield _outlasting(recipe, "optim.warmup_steps", rate, steps,
                          f"The learning rate would end at {steps / rate:.0%} of what is written.")
    if alone >= steps and giving(recipe, VALUES):
        yield _outlasting(recipe, "critic.warmup_steps", alone, steps,
                          "These batches train the critic alone, so the policy would never be trained.")


def _outlasting(recipe: Recipe, setting: str, warmup: int, steps: int, why: str) -> Diagnostic:
    return clash(
        CODE, recipe, f"{setting} is {warmup}, and training ends after budget.steps {steps}.",
        (recipe.where(setting), f"{warmup} batches"), (recipe.where("budget.steps"), "the end"),
        why=why, fix=f"Write a warm-up below {steps}, or more steps.", severity="warning")
