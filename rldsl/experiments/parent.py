"""The run that others are nested under: its own journal and tracker, and whether the tracker is there."""

from __future__ import annotations

import shutil
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rldsl import __version__
from rldsl.diagnostics import RecipeError, at
from rldsl.runtime.folder import FAILED, FINISHED, KILLED
from rldsl.runtime.journal import Journal, read_journal
from rldsl.runtime.tracking import Tracker, TrackingReport, TrackingSettings, absolute

from .driver import REUSED
from .expansion import Expansion
from .search import EVENT, Trial, as_data

EXPANSION = "expansion.json"
SECONDS = 5.0


def reachable(expansion: Expansion) -> None:
    """RecipeError RL409 where the tracking server does not answer. Files and databases are made when needed."""
    uri = expansion.track[0]
    if uri is None or not uri.startswith(("http://", "https://")):
        return
    try:
        urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=SECONDS).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        reason = getattr(reason, "strerror", None) or reason
        raise RecipeError([at(
            "RL409", f"the tracking server {uri} does not answer: {reason}", None,
            why=f"{len(expansion.jobs())} runs would be nested under a run that is not there",
            fix="start it, or track elsewhere: --set 'track.mlflow=\"sqlite:///mlflow.db\"', or none")]) from error


class Parent:
    """The open journal of many runs and its uploader. A process that is killed leaves the status KILLED, and the next
    one goes on in the same tracked run.

    `home` is its folder; `start` is what the journal's first event says; `track` is the tracker's address, or none, and
    the experiment's name.
    """

    def __init__(self, home: Path, root: Path, start: Mapping[str, Any], track: tuple[str | None, str]):
        before = list(read_journal(home))
        begun = any(event.kind == "start" for event in before)
        self.steps = max((event.data["step"] for event in before if event.kind == "step"), default=0)
        self.journal = Journal(home)
        if not begun:
            self.journal.append("start", **start)
        uri, experiment = track
        self.tracker = None
        if uri is not None:
            self.tracker = Tracker(home, TrackingSettings(absolute(uri, root), experiment, start["name"]))

    def progress(self, counts: Counter[str]) -> None:
        """How many runs are done, failed and killed in this session; steps go on from one session to the next."""
        self.steps += 1
        numbers = {"runs/done": counts[FINISHED] + counts[REUSED], "runs/failed": counts[FAILED],
                   "runs/killed": counts[KILLED]}
        self.journal.append("step", step=self.steps, metrics={k: float(n) for k, n in numbers.items()})

    def scored(self, step: int, metrics: Mapping[str, float]) -> None:
        """What the runs up to the `step`th came to."""
        self.journal.append("evaluate", step=step, metrics=dict(metrics))

    def trials(self, made: Sequence[Trial], best: float | None, number: int) -> None:
        """Trials of a search that are over, the best mean so far and how many there are: what a later session knows."""
        self.journal.append(EVENT, trials=as_data(made))
        self.steps += 1
        self.journal.append("step", step=self.steps, metrics={"search/trials": float(number), "search/best": best})
        self.journal.sync()

    def artifact(self, path: str) -> None:
        """A file in the folder that the tracker shall have."""
        self.journal.append("artifact", path=path)

    def close(self, status: str) -> TrackingReport | None:
        """Writes how it ended and lets the uploader finish."""
        self.journal.append("end", status=status)
        self.journal.close()
        return self.tracker.finish() if self.tracker else None


def expanded(expansion: Expansion, home: Path, root: Path, frozen: Path) -> Parent:
    """The parent of an expansion's runs; the frozen expansion is kept beside its journal."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(frozen, home / EXPANSION)
    return Parent(home, root, _start(expansion), expansion.track)


def _start(expansion: Expansion) -> dict[str, Any]:
    params = {"kind": expansion.kind, "recipe": expansion.of, "points": len(expansion.points),
              "runs": len(expansion.jobs()), "seeds": list(expansion.seeds), "varies": list(expansion.varies)}
    return {"name": expansion.name, "params": params, "artifacts": [EXPANSION],
            "tags": {"rldsl": __version__, "sweep": expansion.name, "kind": expansion.kind}}
