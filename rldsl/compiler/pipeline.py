"""The plan of a pipeline: its stages' plans in running order, as one JSON file; a run reads this and no recipe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rldsl.diagnostics import Diagnostic, RecipeError, at

from .compile import compile_recipe
from .fingerprint import fingerprints
from .plan import Plan, from_json, reason, to_json
from .settings import STAGE, missing_for_run
from .stages import Pipeline, taken, told

VERSION = 1
FOLDER = Path(".rldsl") / "pipelines"


@dataclass(frozen=True)
class StagePlan:
    """One stage; `takes` says in words what it takes from others, `from` first."""

    name: str
    takes: tuple[str, ...]
    plan: Plan


@dataclass(frozen=True)
class PipelinePlan:
    """A compiled pipeline. `source` is the text of its file; `profile` and `sets` are what it was compiled with."""

    name: str
    file: str
    profile: str | None
    sets: tuple[str, ...]
    stages: tuple[StagePlan, ...]
    source: str

    @property
    def fingerprint(self) -> str:
        """SHA-256 over what its stages are, in order: equal for pipelines that train the same."""
        return _digest([s.plan.fingerprints["experiment"] for s in self.stages])


def compile_pipeline(pipeline: Pipeline, *, profile: str | None = None, sets: Sequence[str] = (),
                     run: bool = False) -> tuple[PipelinePlan, list[Diagnostic]]:
    """The plan of a pipeline, and the warnings about its stages. With `run` it must have all that training needs.

    A stage's fingerprints hold those of the stages that it takes something from, in place of their names.
    Raises: RecipeError with what is wrong in any stage.
    """
    stages: list[StagePlan] = []
    found: list[Diagnostic] = []
    experiments: dict[str, str] = {}
    for stage in pipeline.stages:
        found += missing_for_run(stage.recipe.settings, stage.span) if run else []
        try:
            plan, warnings = compile_recipe(stage.recipe, profile=profile, sets=sets)
        except RecipeError as error:
            found += error.diagnostics
            continue
        found += warnings
        if all(link.source in experiments for link in stage.links):
            plan = replace(plan, fingerprints=vars(fingerprints(_identified(plan.recipe, experiments))))
            experiments[stage.name] = plan.fingerprints["experiment"]
        stages.append(StagePlan(stage.name, told(stage.links), plan))
    found = list(dict.fromkeys(found))
    if any(d.severity == "error" for d in found):
        raise RecipeError(found)
    text = Path(pipeline.file).read_text(encoding="utf-8")
    return PipelinePlan(pipeline.name, pipeline.file, profile, tuple(sets), tuple(stages), text), found


def _identified(recipe: Mapping[str, Any], experiments: Mapping[str, str]) -> dict[str, Any]:
    """A canonical recipe with `stage:FINGERPRINT` for each `stage:NAME`: names do not matter, what was trained does."""
    settings = {block: dict(part) for block, part in recipe["settings"].items()}
    for block, key, name in taken(recipe["settings"]):
        value, new = settings[block][key], STAGE + experiments[name]
        settings[block][key] = [new if x == STAGE + name else x for x in value] if isinstance(value, list) else new
    return {**recipe, "settings": settings}


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────

def to_data(p: PipelinePlan) -> dict[str, Any]:
    """The plan as JSON data."""
    stages = [{"name": s.name, "takes": list(s.takes), "plan": to_json(s.plan)} for s in p.stages]
    return {**vars(p), "version": VERSION, "sets": list(p.sets), "stages": stages}


def write_pipeline(p: PipelinePlan, target: Path) -> Path:
    """Writes the plan, all or nothing. OSError where it cannot be written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_suffix(".tmp")
    half.write_text(json.dumps(to_data(p), sort_keys=True, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    half.replace(target)
    return target


def pipeline_path(p: PipelinePlan, root: Path) -> Path:
    """Where a project keeps it: `.rldsl/pipelines/<name>-<8 digits>.json`, one file for each distinct pipeline."""
    digest = _digest([[s.name, s.takes, s.plan.recipe, s.plan.seed] for s in p.stages])
    return root / FOLDER / f"{p.name}-{digest[:8]}.json"


def read_pipeline(path: Path) -> PipelinePlan:
    """The inverse of `write_pipeline`. RecipeError RL407 where the file is no such plan."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("version") != VERSION:
            raise ValueError
        stages = tuple(StagePlan(s["name"], tuple(s["takes"]), from_json(s["plan"]))
                       for s in data["stages"])
        return PipelinePlan(**{**data, "sets": tuple(data["sets"]), "stages": stages})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecipeError([at("RL407", f"the pipeline {path} cannot be read: {reason(error)}", None,
                              why="a run reads its plan and nothing else",
                              fix="start the pipeline again, or go on with the version of rldsl that began it"
                              )]) from error


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
