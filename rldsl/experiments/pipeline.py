"""Runs the stages of a pipeline one after another, each in its own folder; what is finished is not run again.

Everything it knows is in the folders, so it may be killed at any moment and started again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rldsl import __version__
from rldsl.compiler.pipeline import PipelinePlan, StagePlan, read_pipeline, write_pipeline
from rldsl.compiler.plan import write_text
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import FAILED, FINISHED, KILLED, LOCK, PLAN, PROJECT, status
from rldsl.runtime.journal import FILE as JOURNAL
from rldsl.runtime.journal import read_journal
from rldsl.runtime.metrics import HELD_OUT
from rldsl.runtime.tracking import TrackingReport

from .driver import alone
from .measure import measure
from .member import PIPELINE, Member, write_member
from .parent import Parent
from .pipeline_report import REPORT, rows, to_html

FILE, RECIPE = "pipeline.json", "recipe.rl"

RunStage = Callable[[StagePlan, Path, bool], tuple[str, Diagnostic | None]]
"""Trains one stage in its folder, from its checkpoint where the last argument says so: how it ended, and why."""
Tell = Callable[[int, StagePlan, str], None]


@dataclass(frozen=True)
class Ended:
    """How a pipeline ended, what went wrong in which stage, and how its tracking stands."""

    status: str
    stage: str | None
    failure: Diagnostic | None
    tracked: TrackingReport | None


def prepare(plan: PipelinePlan, folder: Path, root: Path) -> None:
    """A folder that `rldsl resume` can take up. OSError where it cannot be made."""
    folder.mkdir(parents=True)
    (folder / PROJECT).write_text(str(root.resolve()), encoding="utf-8")
    (folder / RECIPE).write_text(plan.source, encoding="utf-8")
    write_pipeline(plan, folder / FILE)


def is_pipeline(folder: Path) -> bool:
    """Whether a folder is that of a pipeline's run."""
    return (folder / FILE).is_file()


def stages_of(folder: Path) -> PipelinePlan:
    """The plan of the pipeline that is run in a folder."""
    return read_pipeline(folder / FILE)


def run_stages(folder: Path, root: Path, run_stage: RunStage, tell: Tell) -> Ended:
    """Brings every stage to its end, or stops at the first that fails. RunError RL609 where another process does so.

    `tell` hears of each stage, by its number, as it begins and as it has ended.
    """
    plan = stages_of(folder)
    with alone(folder, LOCK):
        parent = Parent(folder, root, _start(plan), _track(plan))
        stands, failure, at = FINISHED, None, None
        try:
            for number, stage in enumerate(plan.stages, 1):
                at = stage.name
                stands, failure = _bring(plan, stage, folder, root, run_stage, partial(tell, number, stage))
                if stands != FINISHED:
                    break
                _note(parent, number, stage, folder)
        except BaseException as error:
            parent.close(KILLED if isinstance(error, KeyboardInterrupt) else FAILED)
            raise
        (folder / REPORT).write_text(to_html(plan.name, rows(plan, folder)), encoding="utf-8")
        parent.artifact(REPORT)
        return Ended(stands, None if stands == FINISHED else at, failure, parent.close(stands))


def _bring(plan: PipelinePlan, stage: StagePlan, folder: Path, root: Path, run_stage: RunStage,
           tell: Callable[[str], None]) -> tuple[str, Diagnostic | None]:
    """One stage to its end: nothing where it is there already."""
    own = folder / stage.name
    if own.is_dir() and status(own)[0] == FINISHED:
        return FINISHED, None
    _prepare_stage(plan, stage, own, folder, root)
    tell("begins")
    try:
        ended = run_stage(stage, own, (own / JOURNAL).exists())
    except RecipeError as error:
        ended = FAILED, error.diagnostics[0]
    except RunError as error:
        ended = FAILED, error.diagnostic
    tell(ended[0].lower())
    return ended


def _prepare_stage(plan: PipelinePlan, stage: StagePlan, own: Path, folder: Path, root: Path) -> None:
    """The stage's folder, as that of a run; its plan last."""
    if (own / PLAN).exists():
        return
    own.mkdir(parents=True, exist_ok=True)
    write_member(own, Member(plan.name, str(folder.resolve()), stage.name, {}, PIPELINE))
    (own / PROJECT).write_text(str(root.resolve()), encoding="utf-8")
    write_text(stage.plan, own / PLAN)


def _note(parent: Parent, number: int, stage: StagePlan, folder: Path) -> None:
    """The held-out score after a stage, once, also where the process died between the two."""
    known = {event.data["step"] for event in read_journal(folder) if event.kind == "evaluate"}
    value = measure(folder / stage.name, HELD_OUT.name).value
    if number not in known and value is not None:
        parent.scored(number, {HELD_OUT.name: value, f"stage/{stage.name}": value})


def _start(plan: PipelinePlan) -> dict[str, Any]:
    stages = {s.name: {"recipe": s.plan.name, "takes": "; ".join(s.takes) or "none",
                       "experiment": s.plan.fingerprints["experiment"]} for s in plan.stages}
    return {"name": plan.name, "params": {"kind": PIPELINE, "stages": stages, "profile": plan.profile or "none"},
            "artifacts": [FILE, RECIPE], "recipe": plan.source,
            "tags": {"rldsl": __version__, "kind": PIPELINE, "recipe": plan.name,
                     "fingerprint.pipeline": plan.fingerprint}}


def _track(plan: PipelinePlan) -> tuple[str | None, str]:
    """Where the stages are tracked: all in one place."""
    track = plan.stages[0].plan.recipe["settings"]["track"]
    return track["mlflow"], track["experiment"] or plan.name
