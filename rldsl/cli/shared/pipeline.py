"""One session of a pipeline's run: its stages one after another, shown as they go, and what they came to."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rldsl.compiler.pipeline import (
    PipelinePlan,
    StagePlan,
    compile_pipeline,
    pipeline_path,
    write_pipeline,
)
from rldsl.compiler.stages import Pipeline
from rldsl.diagnostics import Diagnostic, Label, RecipeError, at
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import FINISHED

from .output import RUN_FAILED, emit
from .session import interruptible, session, unwritable


def compiled(pipeline: Pipeline, root: Path, args: Namespace, *, run: bool,
             preflight: bool) -> tuple[PipelinePlan, Path, list[Diagnostic]]:
    """The plan of a pipeline, written below the project's root, with the warnings. RecipeError with what is wrong."""
    plan, warnings = compile_pipeline(pipeline, profile=args.profile, sets=args.sets, run=run)
    if preflight:
        from .preflight import preflight as look

        missing = [d for stage in pipeline.stages for d in look(stage.recipe, root)]
        if missing:
            raise RecipeError([*warnings, *dict.fromkeys(missing)])
    try:
        return plan, write_pipeline(plan, pipeline_path(plan, root)), warnings
    except OSError as error:
        raise RecipeError([at("RL407", f"Cannot write a plan below {root}: {error.strerror}.", None,
                              why="A run reads its plan and nothing else.",
                              fix="Make the folder writable, or copy the project.")]) from error


def start(pipeline: Pipeline, folder: Path, root: Path, args: Namespace) -> int:
    """Compiles a pipeline, looks at all that its stages read, and trains it in a new folder."""
    from rldsl.experiments.pipeline import prepare

    _refuse(pipeline)
    plan, _, warnings = compiled(pipeline, root, args, run=True, preflight=True)
    if warnings and args.format == "terminal":
        emit(args, diagnostics=warnings)
    try:
        prepare(plan, folder, root)
    except OSError as error:
        raise RunError(unwritable(folder, error)) from error
    return train(folder, root, args)


def _refuse(pipeline: Pipeline) -> None:
    """RecipeError RL406 for every stage that its backend cannot run: known before the first one begins, and told with
    the stage's name."""
    from rldsl.backends.choose import refuse

    found = []
    for stage in pipeline.stages:
        try:
            refuse(stage.recipe)
        except RecipeError as error:
            place = Label(stage.span, "this stage", primary=True)
            found += [replace(d, message=f"the stage `{stage.name}`: {d.message}", labels=d.labels or (place,))
                      for d in error.diagnostics]
    if found:
        raise RecipeError(found)


def train(folder: Path, root: Path, args: Namespace) -> int:
    """Trains what is not finished and prints a summary; 0, or 3 where a stage failed or was interrupted."""
    from rldsl.backends.choose import joins
    from rldsl.experiments.pipeline import run_stages, stages_of
    from rldsl.experiments.pipeline_report import rows

    plan = stages_of(folder)
    some = any(joins(s.plan) for s in plan.stages)

    def told(number: int, stage: StagePlan, what: str) -> None:
        takes = f", {'; '.join(stage.takes)}" if stage.takes else ""
        done = "" if what == "begins" else f" · {_score(folder / stage.name)}"
        print(f"stage {number}/{len(plan.stages)} {stage.name}: {stage.plan.name}{takes} {what}{done}",
              file=sys.stderr, flush=True)

    def brought(stage: StagePlan, own: Path, resume: bool) -> tuple[str, Diagnostic | None]:
        alone = some and not joins(stage.plan)  # --address is for the others
        return _stage(stage, own, root, resume, None if alone else args.address)

    try:
        with interruptible():
            ended = run_stages(folder, root, brought, told)
    except OSError as error:
        raise RunError(unwritable(folder, error)) from error
    found = rows(plan, folder)
    summary = {"folder": str(folder), "status": ended.status, "stages": [vars(r) for r in found],
               "report": str(folder / "report.html"),
               "mlflow": ended.tracked and {"run_id": ended.tracked.run_id, "degraded": ended.tracked.degraded}}
    code = emit(args, _text(plan.name, summary, found, ended.stage), {"pipeline": summary},
                [ended.failure] if ended.failure else [])
    return code if ended.status == FINISHED else RUN_FAILED


def _stage(stage: StagePlan, own: Path, root: Path, resume: bool,
           address: str | None) -> tuple[str, Diagnostic | None]:
    from rldsl.runtime.live import live_view
    from rldsl.runtime.report import write_report

    steps = stage.plan.recipe["settings"]["budget"]["steps"]
    with live_view(f"{stage.name}  {own}", steps, sys.stderr) as view:
        status, failure, _ = session(stage.plan, own, root, view, resume, address)
    write_report(own)
    return status, failure


def _score(own: Path) -> str:
    from rldsl.experiments.measure import measure
    from rldsl.runtime.metrics import HELD_OUT

    points = measure(own, HELD_OUT.name).points
    return f"held-out {points[0][1]:.3f} → {points[-1][1]:.3f}" if points else "no held-out score"


def _text(name: str, summary: Mapping[str, Any], found: Sequence[Any], stage: str | None) -> str:
    from rldsl.experiments.pipeline_report import to_text

    where = f" in the stage `{stage}`" if stage else ""
    lines = [f"{summary['status'].lower()}{where}", to_text(name, found), f"  run      {summary['folder']}",
             f"  report   {summary['report']}"]
    if summary["mlflow"]:
        lines.append(f"  mlflow   {summary['mlflow']['run_id']}"
                     f" ({'incomplete' if summary['mlflow']['degraded'] else 'complete'})")
    if stage:
        lines.append(f"  go on with  rldsl resume {summary['folder']}")
    return "\n".join(lines)
