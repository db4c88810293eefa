"""A plan on other machines: the same experiment with another `cluster` block or placement."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rldsl.compiler.canonical import canonical, from_canonical
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.fingerprint import PLACEMENT, Fingerprints, fingerprints
from rldsl.compiler.plan import Plan
from rldsl.compiler.recipe import Recipe
from rldsl.compiler.settings import Cluster, hints, keys
from rldsl.diagnostics import RecipeError
from rldsl.grammar.tree import Assign

from .axes import READERS
from .commandline import assignments
from .report import Report, did_you_mean
from .unread import readers
from .values import INVALID, typed

CODE = "RL210"


def relaid(plan: Plan, sets: Sequence[str]) -> Plan:
    """The plan with `cluster.KEY=VALUE` and `system=SCHEDULE on PLACEMENT` changed; nothing else may be. RecipeError
    RL210 for what would be another experiment, and whatever the rules say of the new placement."""
    report, before = Report(), from_canonical(plan.recipe)
    recipe = before
    for assign in assignments(sets, report):
        recipe = _with(recipe, assign, report)
        if _identity(recipe) != _identity(before):
            _another(assign, report)
    if report.found:
        raise RecipeError(report.found)
    made, _ = compile_recipe(recipe, profile=plan.profile, sets=(*plan.sets, *sets))
    named = {**plan.fingerprints, PLACEMENT: made.fingerprints[PLACEMENT]}  # those of a stage hold its sources'
    return dataclasses.replace(made, file=plan.file, source=plan.source, resolved=plan.resolved, fingerprints=named)


def _with(recipe: Recipe, assign: Assign, report: Report) -> Recipe:
    """The recipe with one value changed; as it is once an error is reported."""
    match [part.name for part in assign.target.parts]:
        case ["cluster", _] if recipe.settings.cluster.where is not None:
            report.add("RL208", "a run in one process has no layout to change", assign.span, "nothing reads it",
                       why="its checkpoints are those of one process", fix="leave it out")
            return recipe
        case ["cluster", key] if key in keys(Cluster):
            value = typed(assign.value, hints(Cluster)[key], f"cluster.{key}", report)
            if value is INVALID:
                return recipe
            _require_read(recipe, f"cluster.{key}", assign, report)
            cluster = dataclasses.replace(recipe.settings.cluster, **{key: value})
            return dataclasses.replace(recipe, settings=dataclasses.replace(recipe.settings, cluster=cluster))
        case ["cluster", key]:
            report.add("RL201", f"`cluster` has no setting `{key}`", assign.span, "unknown setting",
                       fix=did_you_mean(key, keys(Cluster)))
            return recipe
        case ["system"]:
            return dataclasses.replace(recipe, **(READERS["system"](assign.value, report) or {}))
    _another(assign, report)
    return recipe


def _require_read(recipe: Recipe, path: str, assign: Assign, report: Report) -> None:
    """RL208 for what this recipe never reads."""
    for reader in readers(recipe):
        if reader.settings == path and not reader.there():
            report.add("RL208", f"`{path}` is set and nothing reads it", assign.span, "without effect",
                       fix=f"leave it out; what would read it is {reader.would_read}")


def _identity(recipe: Recipe) -> Fingerprints:
    return dataclasses.replace(fingerprints(canonical(recipe)), placement="")


def _another(assign: Assign, report: Report) -> None:
    report.add(CODE, "this would make the run another experiment", assign.span, "not a part of its placement",
               why="a run goes on with the objective, the data and the seed that it was begun with",
               fix="change cluster.KEY, or system with another placement of the same schedule; for anything else start "
                   "a new run")
