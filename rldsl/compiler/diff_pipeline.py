"""The difference between two pipelines: stages that are only in one, and what changes in those that are in both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .difference import Difference, compare
from .difference import to_json as stage_json
from .difference import to_text as stage_text
from .pipeline import PipelinePlan
from .recipe import Recipe
from .stages import Pipeline, told


@dataclass(frozen=True)
class PipelineDifference:
    """`gone` and `new` name stages of one side only; `order` is whether those of both come in another order; `taken`
    says what a stage takes now and took before; `stages` are the differences of those that are in both."""

    gone: tuple[str, ...]
    new: tuple[str, ...]
    order: bool
    taken: Mapping[str, tuple[str, str]]
    stages: Mapping[str, Difference]


def compare_pipelines(old: Pipeline | PipelinePlan, new: Pipeline | PipelinePlan) -> PipelineDifference:
    """Stages are matched by name; what they take from others counts as a change of its own."""
    before, after = _parts(old), _parts(new)
    both = [name for name in before if name in after]
    taken = {name: (before[name].takes, after[name].takes) for name in both
             if before[name].takes != after[name].takes}
    stages = {name: compare(before[name].recipe, after[name].recipe) for name in both}
    return PipelineDifference(tuple(n for n in before if n not in both), tuple(n for n in after if n not in both),
                              both != [n for n in after if n in before], taken,
                              {name: d for name, d in stages.items() if d.changes})


@dataclass(frozen=True)
class _Part:
    takes: str
    recipe: Recipe | Mapping[str, Any]


def _parts(p: Pipeline | PipelinePlan) -> dict[str, _Part]:
    """The stages by name, of a file or of a plan."""
    if isinstance(p, Pipeline):
        return {s.name: _Part("; ".join(told(s.links)) or "nothing", s.recipe) for s in p.stages}
    return {s.name: _Part("; ".join(s.takes) or "nothing", s.plan.recipe) for s in p.stages}


def to_text(d: PipelineDifference) -> str:
    """For a terminal: the stages first, then each that changed."""
    lines = [*(f"stage {name} is gone" for name in d.gone), *(f"stage {name} is new" for name in d.new)]
    lines += ["the stages come in another order"] if d.order else []
    lines += [f"stage {name} took {a} and takes {b}" for name, (a, b) in d.taken.items()]
    for name, each in d.stages.items():
        lines += ["", f"stage {name}", *(f"  {line}".rstrip() for line in stage_text(each).split("\n"))]
    return "\n".join(lines) if lines else "The pipelines train the same."


def to_json(d: PipelineDifference) -> dict[str, Any]:
    """As JSON data."""
    return {"stages_gone": list(d.gone), "stages_new": list(d.new), "order": d.order,
            "takes": {name: {"before": a, "after": b} for name, (a, b) in d.taken.items()},
            "stages": {name: stage_json(each) for name, each in d.stages.items()}}
