"""From a frozen expansion to its finished runs, tracked as one run with children."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rldsl.diagnostics import Diagnostic, RecipeError
from rldsl.runtime.folder import FAILED, FINISHED, KILLED, status
from rldsl.runtime.tracking import SETTINGS_FILE, TrackingReport, read_state, tracking_report, upload

from .comparison import compare
from .driver import Driver, Outcome, alone
from .expansion import Expansion
from .parent import expanded, reachable
from .report_html import to_html
from .search import Search, strategy_of

POINTS, REPORT = "points.json", "report.html"
Tell = Callable[[Outcome, int, int], None]


@dataclass(frozen=True)
class Executed:
    """What became of every run, the expansion's own folder, how its tracking stands, and why there is no report where
    there is none."""

    outcomes: Sequence[Outcome]
    home: Path
    tracked: TrackingReport | None
    found: Sequence[Diagnostic]


def execute(expansion: Expansion, frozen: Path, root: Path, *, jobs: int, again: bool, tell: Tell) -> Executed:
    """Runs what is not finished yet. RecipeError RL407, RL409, RunError RL609 where it cannot begin."""
    reachable(expansion)
    strategy = strategy_of(expansion) if expansion.search is not None else None
    home = frozen.with_suffix("")
    with alone(home):
        parent = expanded(expansion, home, root, frozen)
        counts: Counter[str] = Counter()

        def told(outcome: Outcome, number: int, total: int) -> None:
            counts[outcome.status] += 1
            parent.progress(counts)
            tell(outcome, number, total)

        work = (Driver(expansion, root, home, jobs, told) if strategy is None else
                Search(expansion, root, home, jobs, told, strategy, parent.trials))
        try:
            outcomes = work.run(again)
        except KeyboardInterrupt:
            parent.close(KILLED)
            raise
        except BaseException:
            parent.close(FAILED)
            raise
        _upload_rest(outcomes)
        _write_points(home, outcomes)
        parent.artifact(POINTS)
        found = _write_report(expansion, root, home)
        if not found:
            parent.artifact(REPORT)
        ended = all(o.status not in (FAILED, KILLED) for o in outcomes)
        return Executed(outcomes, home, parent.close(FINISHED if ended else FAILED), found)


def _upload_rest(outcomes: Sequence[Outcome]) -> None:
    """A killed driver or uploader may have left a run whose tracker does not know how it ended."""
    for outcome in outcomes:
        if (outcome.folder / SETTINGS_FILE).exists():
            told, stands = read_state(outcome.folder), status(outcome.folder)[0]
            behind = told.status != stands or tracking_report(outcome.folder).pending
            if behind and upload(outcome.folder).degraded:
                return  # the tracker is away: each further run would wait as long


def _write_points(home: Path, outcomes: Sequence[Outcome]) -> None:
    """Which run answers for which point, also where it was made for another sweep."""
    rows = [{"points": list(o.job.points), "seed": o.job.seed, "experiment": o.job.experiment, "status": o.status,
             "folder": str(o.folder), "run_id": read_state(o.folder).run_id} for o in outcomes]
    (home / POINTS).write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _write_report(expansion: Expansion, root: Path, home: Path) -> list[Diagnostic]:
    """The comparison as a page; a run that ended well does not fail for the want of one."""
    try:
        (home / REPORT).write_text(to_html(compare(expansion, root, expansion.metric)), encoding="utf-8")
    except RecipeError as error:
        return [replace(d, severity="warning") for d in error.diagnostics]
    return []
