"""Tracking, as the training process sees it: start an uploader, and ask at the end how far it came.

The uploader is a process of its own (`tracking_uploader`) that reads the journal and writes to MLflow.
Training never imports mlflow, never waits for it but at the very end, and never fails by it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from .journal import read_from

SETTINGS_FILE = "tracking.json"
STATE_FILE = "uploaded.json"
LOG_FILE = "tracking.log"
COMMAND = (sys.executable, "-P", "-m", "rldsl.runtime.tracking_uploader")


@dataclass(frozen=True)
class TrackingSettings:
    """Where a run is tracked. `uri` is any that MLflow takes; `parent` is the folder of the run under which
    this one is nested (a sweep's); `id` is what MLflow knows the run by should the uploader lose its
    notes."""

    uri: str
    experiment: str
    name: str
    parent: str | None = None
    id: str = ""


@dataclass(frozen=True)
class UploadState:
    """The uploader's notes: MLflow's run id, the byte of the journal up to which all is uploaded, the last
    step uploaded of each kind of event, artifacts still owed, what MLflow refused for good (`refused`), and
    the latest failure (`error`, None while all is well)."""

    run_id: str | None = None
    offset: int = 0
    last_step: dict[str, int] | None = None
    owed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    error: str | None = None
    status: str | None = None


@dataclass(frozen=True)
class TrackingReport:
    """How tracking stands: events of the journal not yet uploaded, and why. `degraded` means that the tracker
    lacks something that the journal has; `upload` brings it there later."""

    run_id: str | None
    pending: int
    degraded: bool
    error: str | None


def default_uri(project: Path) -> str:
    """The SQLite file `mlflow.db` in the project's folder."""
    return f"sqlite:///{project.resolve() / 'mlflow.db'}"


def absolute(uri: str, project: Path) -> str:
    """The address of a tracker; the path of an SQLite file is relative to the project."""
    if uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
        return f"sqlite:///{(project / uri.removeprefix('sqlite:///')).resolve()}"
    return uri


class Tracker:
    """A running uploader for the run in `folder`. Start it when the journal exists; a resumed run goes on in
    the same MLflow run. If the training process dies the uploader notices, uploads the rest and sets the
    status KILLED."""

    def __init__(self, folder: Path, settings: TrackingSettings):
        self.folder = folder
        _keep_settings(folder, settings)
        self._process = _start(folder, 60.0, stdin=subprocess.PIPE)

    def report(self) -> TrackingReport:
        """How tracking stands now; cheap enough for every step."""
        return tracking_report(self.folder)

    def finish(self, deadline: float = 30.0) -> TrackingReport:
        """Let the uploader finish, for at most `deadline` seconds. Append the `end` event first: it carries
        the status."""
        self._process.stdin.close()
        if not _ended(self._process, deadline):
            self._process.kill()
            self._process.wait()
        return self.report()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.finish()


def upload(folder: Path, deadline: float = 60.0) -> TrackingReport:
    """Upload what a run's journal has and its tracker lacks, for at most `deadline` seconds; the run has
    ended."""
    process = _start(folder, deadline, stdin=subprocess.DEVNULL)
    if not _ended(process, deadline + 10.0):
        process.kill()
        process.wait()
    return tracking_report(folder)


def tracking_report(folder: Path) -> TrackingReport:
    """How tracking of the run in `folder` stands."""
    state = read_state(folder)
    pending = sum(1 for _ in read_from(folder, state.offset))
    error = state.error or (state.refused[0] if state.refused else None)
    return TrackingReport(state.run_id, pending, bool(error or state.owed or pending), error)


def read_settings(folder: Path) -> TrackingSettings:
    """The settings that the run was started with."""
    return TrackingSettings(**json.loads((folder / SETTINGS_FILE).read_text("utf-8")))


def read_state(folder: Path) -> UploadState:
    """The uploader's notes, empty before it made any."""
    path = folder / STATE_FILE
    if not path.exists():
        return UploadState()
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return UploadState(**{**data, "owed": tuple(data["owed"]), "refused": tuple(data["refused"])})


def write_state(folder: Path, state: UploadState) -> None:
    """Replace the notes in one step, so that a kill leaves the old or the new ones."""
    _replace_file(folder / STATE_FILE, asdict(state))


def _keep_settings(folder: Path, settings: TrackingSettings) -> None:
    """A resumed run keeps the id it was started with."""
    known = read_settings(folder).id if (folder / SETTINGS_FILE).exists() else uuid.uuid4().hex
    _replace_file(folder / SETTINGS_FILE, asdict(replace(settings, id=known)))


def _replace_file(path: Path, data: dict[str, Any]) -> None:
    half = path.with_suffix(".tmp")
    half.write_text(json.dumps(data, indent=1), "utf-8")
    half.replace(path)


def _start(folder: Path, deadline: float, stdin: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path)}
    command = [*COMMAND, str(folder.resolve()), str(deadline)]
    with (folder / LOG_FILE).open("ab") as log:
        return subprocess.Popen(command, stdin=stdin, stdout=log, stderr=log, env=environment,
                                start_new_session=True)


def _ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        process.wait(deadline)
    except subprocess.TimeoutExpired:
        return False
    return True
