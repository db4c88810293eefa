"""One session of a run: train from where it stands, show it, record how it ended, and report."""

from __future__ import annotations

import signal
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from rldsl.algebra.render_unicode import unicode
from rldsl.compiler.canonical import from_canonical
from rldsl.compiler.plan import Plan
from rldsl.compiler.settings import Track
from rldsl.compiler.show import show_data
from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.experiments.member import PIPELINE, member
from rldsl.runtime.errors import RunError
from rldsl.runtime.folder import FAILED, FINISHED, KILLED, PLAN
from rldsl.runtime.live import LiveView

from .output import RUN_FAILED, emit

LONGEST = 160
"""Characters of a tracker's own words that are shown."""
RECIPE, FORMULA = "recipe.rl", "objective.txt"


def train(plan: Plan, folder: Path, root: Path, args: Namespace, *, resume: bool) -> int:
    """Trains and prints a summary; 0, or 3 where the run failed or was interrupted."""
    import sys

    from rldsl.runtime.live import live_view

    steps = plan.recipe["settings"]["budget"]["steps"]
    try:
        with interruptible(), live_view(f"{plan.name}  {folder}", steps, sys.stderr) as view:
            status, failure, tracked = session(plan, folder, root, view, resume, args.address)
        summary = _summary(folder, status, tracked)
    except OSError as error:
        raise RunError(unwritable(folder, error)) from error
    found = [failure] if failure is not None else []
    code = emit(args, _text(summary), {"run": summary}, found)
    return code if status == FINISHED else RUN_FAILED


def unwritable(folder: Path, error: OSError) -> Diagnostic:
    """RL612 for a folder or disk that does not take what a run writes, and for a folder that is there already."""
    if isinstance(error, FileExistsError) and Path(error.filename or "") == folder:
        return Diagnostic("RL612", f"{folder} is there already", why="a folder holds one run",
                          fix=f"choose another with --out, or go on with the run in it: rldsl resume {folder}")
    return Diagnostic("RL612", f"cannot write to {folder}: {error.strerror or error}",
                      why="a run keeps its journal and its checkpoints there",
                      fix="free disk space, make the folder writable, or choose another with --out")


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: recorded, and resumable."""
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def session(plan: Plan, folder: Path, root: Path, view: LiveView, resume: bool,
            address: str | None) -> tuple[str, Diagnostic | None, Any]:
    """Trains until the run ends: how it ended, what went wrong, and how its tracking stands."""
    from rldsl.backends.choose import opener
    from rldsl.runtime.journal import read_journal
    from rldsl.runtime.recover import execute_through_deaths

    tracker, failure, status = None, None, FINISHED
    open_run = opener(plan, address)
    with open_run(plan, folder, root, _observer(view, Watched(folder, view)), resume=resume) as run:
        if not any(event.kind == "start" for event in read_journal(folder)):
            run.record("start", **_start(plan, folder))
        tracker = _tracker(plan, folder, root)
        try:
            execute_through_deaths(run)
        except RunError as error:
            status, failure = FAILED, error.diagnostic
        except RecipeError as error:
            status, failure = FAILED, error.diagnostics[0]
        except KeyboardInterrupt:
            status = KILLED
        except Exception as error:
            run.record("end", status=FAILED, error=f"{type(error).__name__}: {error}")
            raise
        told = {} if failure is None else {"error": f"{failure.code} {failure.message}\n{failure.why}"}
        run.record("end", status=status, **told)
    return status, failure, tracker.finish() if tracker is not None else None


@dataclass
class Watched:
    """Says once that the tracker cannot be reached, and once that it can again; training does not wait for it."""

    folder: Path
    view: LiveView
    away: bool = False

    def look(self) -> None:
        """Compares with what the uploader noted last."""
        from rldsl.runtime.tracking import read_state

        error = read_state(self.folder).error
        if error and not self.away:
            self.view.notice(f"tracking is behind: {shorten(error, LONGEST)}; training goes on, and what is missing is "
                             "uploaded when the tracker is back")
        if self.away and not error:
            self.view.notice("tracking has caught up")
        self.away = bool(error)


def _observer(view: LiveView, watched: Watched) -> Callable[[str, Mapping[str, Any]], None]:
    def observe(kind: str, data: Mapping[str, Any]) -> None:
        match kind:
            case "doing":
                view.waiting(f"{data['node']}, batch {data['batch'] + 1}")
            case "step":
                view.step(data["step"], data["metrics"])
                watched.look()
            case "evaluate":
                view.evaluated(data["step"], data["metrics"])
            case "warning":
                view.notice(f"warning {data['code']}: {data['message']}")
            case "resume":
                begun = data["step"] >= 0  # the first checkpoint is of step 0
                view.notice(f"resumed after step {data['step']}" if begun else "begun again: no checkpoint yet")

    return observe


def _start(plan: Plan, folder: Path) -> dict[str, Any]:
    """What the journal, the tracker and the report say of the run; its long parts are files beside it."""
    terms = [f"{t.name}: {unicode(t.expr)}" for t in plan.formula.terms()]
    formula = "J = Σ of\n" + "\n".join(terms)
    (folder / RECIPE).write_bytes(plan.source.encode())  # line ends stay as they were written
    (folder / FORMULA).write_text(formula, encoding="utf-8")
    axes = {axis: show_data(value) for axis, value in plan.recipe["axes"].items()}
    settings = {f"{block}.{name}": value for block, part in plan.recipe["settings"].items()
                for name, value in part.items()}  # a block may have an axis's name
    of = member(folder)
    params = {**axes, **settings, "seed": plan.seed, **({"point": dict(of.values)} if of and of.values else {})}
    tags = {"rldsl": plan.rldsl, "recipe": plan.name, **{f"fingerprint.{k}": v for k, v in plan.fingerprints.items()},
            **({of.kind: of.sweep, f"{of.kind}.{of.place}": of.point} if of else {})}
    return {"name": plan.name, "params": params, "tags": tags, "artifacts": [PLAN, RECIPE, FORMULA],
            "recipe": plan.source, "formula": formula}


def _tracker(plan: Plan, folder: Path, root: Path) -> Any:
    from rldsl.runtime.tracking import Tracker, TrackingSettings, absolute

    track: Track = from_canonical(plan.recipe).settings.track
    if track.mlflow is None:
        return None
    uri, of = absolute(track.mlflow, root), member(folder)
    if of is not None:
        name = of.point if of.kind == PIPELINE else f"{of.point} seed {plan.seed}"
        return Tracker(folder, TrackingSettings(uri, track.experiment or of.sweep, name, parent=of.parent))
    return Tracker(folder, TrackingSettings(uri, track.experiment or plan.name, folder.name))


def _summary(folder: Path, status: str, tracked: Any) -> dict[str, Any]:
    """Numbers for people and programs: first and last of what matters, and where to look further."""
    from rldsl.runtime.journal import kept_events, read_journal
    from rldsl.runtime.metrics import HELD_OUT, REWARD, UNTRAINED
    from rldsl.runtime.report import run_record, write_report

    record = run_record(kept_events(read_journal(folder)))
    numbers = {}
    for name in (HELD_OUT.name, REWARD.name):
        points = [y for _, y in record.points.get(name, ())]
        if points:
            numbers[name] = {"first": points[0], "last": points[-1]}
    untrained = record.points.get(UNTRAINED.name)
    if untrained and HELD_OUT.name in numbers:
        numbers[HELD_OUT.name]["untrained"] = untrained[0][1]
    steps = [int(step) for step, _ in record.points.get(REWARD.name, ())]
    mlflow = {"run_id": tracked.run_id, "degraded": tracked.degraded, "error": tracked.error} if tracked else None
    return {"folder": str(folder), "status": status, "steps": steps[-1] if steps else 0, "metrics": numbers,
            "mlflow": mlflow, "report": str(write_report(folder).html)}


def stands(mlflow: Mapping[str, Any]) -> str:
    """A tracked run, and whether the tracker has all of it."""
    state = f"incomplete: {mlflow['error'] or 'not all uploaded'}" if mlflow["degraded"] else "complete"
    return f"{mlflow['run_id'] or '–'} ({state})"


def _text(summary: Mapping[str, Any]) -> str:
    lines = [f"{summary['status'].lower()} after step {summary['steps']}"]
    for name, ends in summary["metrics"].items():
        start = f"untrained {ends['untrained']:.3f}, warm start " if "untrained" in ends else ""
        lines.append(f"  {name:<14} {start}{ends['first']:.3f} → {ends['last']:.3f}")
    lines.append(f"  {'run':<14} {summary['folder']}")
    lines.append(f"  {'report':<14} {summary['report']}")
    if (mlflow := summary["mlflow"]) is not None:
        lines.append(f"  {'mlflow run':<14} {stands(mlflow)}")
        if mlflow["degraded"]:
            lines.append(f"  upload later with  rldsl resume {summary['folder']}")
    if summary["status"] != FINISHED:
        lines.append(f"  go on with     rldsl resume {summary['folder']}")
    return "\n".join(lines)
