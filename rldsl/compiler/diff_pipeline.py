"""The difference between two pipelines: stages that are only in one, and what changes in those that are in both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .difference import Difference, compare
from .difference import to_json as stage_json
from .difference import to_text as stage_text
from .stages import Pipeline, Stage, told


@dataclass(frozen=True)
class PipelineDifference:
    """`gone` and `new` name stages of one side only; `order` is whether those of both come in another order; `taken`
    says what a stage takes now and took before; `stages` are the differences of those that are in both."""

    gone: tuple[str, ...]
    new: tuple[str, ...]
    order: bool
    taken: Mapping[str, tuple[str, str]]
    stages: Mapping[str, Difference]


def compare_pipelines(old: Pipeline, new: Pipeline) -> PipelineDifference:
    """Stages are matched by name; what they take from others counts as a change of its own."""
    both = [s.name for s in old.stages if new.stage(s.name)]
    later = [s.name for s in new.stages if old.stage(s.name)]
    pairs = {name: (old.stage(name), new.stage(name)) for name in both}
    taken = {name: (_takes(a), _takes(b)) for name, (a, b) in pairs.items() if _takes(a) != _takes(b)}
    stages = {name: compare(a.recipe, b.recipe) for name, (a, b) in pairs.items()}
    return PipelineDifference(tuple(s.name for s in old.stages if s.name not in both),
                              tuple(s.name for s in new.stages if s.name not in both), both != later, taken,
                              {name: d for name, d in stages.items() if d.changes})


def _takes(stage: Stage) -> str:
    return "; ".join(told(stage.links)) or "nothing"


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
