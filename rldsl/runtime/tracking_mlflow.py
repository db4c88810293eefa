"""One run's journal written to MLflow, through explicit ids only. Imported by the uploader process alone."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from .journal import Event, read_from
from .tracking import SETTINGS_FILE, TrackingSettings, read_state, write_state
from .tracking_values import METRICS_PER_CALL, PARAMS_PER_CALL, chunks, flat, name_of, short

ID_TAG = "rldsl.run"
PARENT_TAG = "mlflow.parentRunId"
EVENTS_PER_READ = 500
TEXTS, PARAMS = "tracked", "params.json"
REFUSED = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")
STEPPED = ("step", "evaluate", "system")


class Upload:
    """A client and the notes of how far it came. Raises what MLflow raises when the tracker cannot be
    reached."""

    def __init__(self, folder: Path, settings: TrackingSettings):
        self.folder, self.settings = folder, settings
        self.state = read_state(folder)
        self.nested = False
        with _alone(settings.uri):
            self.client = MlflowClient(settings.uri)
            self.client.search_experiments(max_results=1)
        if self.state.run_id is None:
            self._note(run_id=self._find() or self._create())
        if self.state.status != "RUNNING":
            self.client.update_run(self.state.run_id, status="RUNNING")
            self._note(status="RUNNING")

    def pump(self) -> None:
        """Upload everything that the journal has and the notes do not."""
        self._nest()
        while batch := self._next_batch():
            metrics: list[Metric] = []
            seen = dict(self.state.last_step or {})
            for event, _ in batch:
                if event.kind in STEPPED:
                    metrics += self._metrics(event, seen)
                else:
                    self._other(event)
            for part in chunks(metrics, METRICS_PER_CALL):
                self._send("metrics", part)
            self._note(offset=batch[-1][1], last_step=seen)
        self._note(error=None)
        self._pay_artifacts()

    def complete(self) -> bool:
        """Whether nothing is owed any more: no artifact, and no place under a parent that is tracked too."""
        parent = self.settings.parent
        if parent is not None and not self.nested and (Path(parent) / SETTINGS_FILE).exists():
            self._note(error="the run that this one belongs under is not there yet")
            return False
        return not self.state.owed

    def close(self, status: str, seconds: float) -> None:
        """Give the run its final status and the time of its end (since 1970)."""
        self.client.set_terminated(self.state.run_id, status, int(seconds * 1000))
        self._note(status=status)

    def _next_batch(self) -> list[tuple[Event, int]]:
        batch = []
        for pair in read_from(self.folder, self.state.offset):
            batch.append(pair)
            if len(batch) == EVENTS_PER_READ:
                break
        return batch

    def _metrics(self, event: Event, seen: dict[str, int]) -> list[Metric]:
        """A step that was uploaded before stays as it is: a resumed run repeats some."""
        step = event.data["step"]
        if step <= seen.get(event.kind, -1):
            return []
        seen[event.kind] = step
        when = int(event.time * 1000)
        return [Metric(name_of(name), float(value), when, step)
                for name, value in event.data["metrics"].items() if value is not None]

    def _other(self, event: Event) -> None:
        if event.kind == "start":
            self._start(event)
        if event.kind == "artifact":
            self._owe(event.data["path"])

    def _start(self, event: Event) -> None:
        params = flat(event.data.get("params", {}))
        items = [Param(name_of(name), short(value)) for name, value in params.items()]
        for part in chunks(items, PARAMS_PER_CALL):
            self._send("params", part)
        tags = [RunTag(name_of(name), str(value)) for name, value in event.data.get("tags", {}).items()]
        for part in chunks(tags, PARAMS_PER_CALL):
            self._send("tags", part)
        (self.folder / TEXTS).mkdir(exist_ok=True)
        (self.folder / TEXTS / PARAMS).write_text(json.dumps(params, indent=1), encoding="utf-8")
        for path in (f"{TEXTS}/{PARAMS}", *event.data.get("artifacts", ())):
            self._owe(path)

    def _owe(self, path: str) -> None:
        if path not in self.state.owed:
            self._note(owed=(*self.state.owed, path))

    def _pay_artifacts(self) -> None:
        """An artifact store that is down holds up no metric; what it lacks stays owed."""
        for path in self.state.owed:
            try:
                self.client.log_artifact(self.state.run_id, str(self.folder / path), _place(path))
            except FileNotFoundError:
                self._refuse(f"artifact {path}: there is no such file")
            except (MlflowException, OSError) as error:
                self._note(error=f"artifact {path}: {error}"[:500])
                return
            self._note(owed=tuple(owed for owed in self.state.owed if owed != path))

    def _send(self, kind: str, items: Sequence[Any]) -> None:
        """One call; where MLflow refuses the values themselves, the parts of it, so that one bad value costs
        itself."""
        try:
            self.client.log_batch(self.state.run_id, **{kind: items})
        except MlflowException as error:
            if error.error_code not in REFUSED:
                raise
            if len(items) > 1:
                middle = len(items) // 2
                self._send(kind, items[:middle])
                self._send(kind, items[middle:])
            else:
                self._refuse(f"{kind} {items[0].key}: {error.message}"[:500])

    def _refuse(self, what: str) -> None:
        self._note(refused=(*self.state.refused, what))

    def _note(self, **changes: Any) -> None:
        changed = replace(self.state, **changes)
        if changed != self.state:
            self.state = changed
            write_state(self.folder, changed)

    def _find(self) -> str | None:
        """The run, if an uploader that died had made it."""
        experiment = self.client.get_experiment_by_name(self.settings.experiment)
        if experiment is None:
            return None
        runs = self.client.search_runs([experiment.experiment_id], f"tags.`{ID_TAG}` = '{self.settings.id}'")
        return runs[0].info.run_id if runs else None

    def _create(self) -> str:
        tags = {ID_TAG: self.settings.id}
        return self.client.create_run(self._experiment(), run_name=self.settings.name, tags=tags).info.run_id

    def _experiment(self) -> str:
        """The experiment's id, made if missing; several runs may be making it at once."""
        known = self.client.get_experiment_by_name(self.settings.experiment)
        if known is not None:
            return known.experiment_id
        try:
            folder = _artifact_folder(self.settings.uri)
            return self.client.create_experiment(self.settings.experiment, folder)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
            return self.client.get_experiment_by_name(self.settings.experiment).experiment_id

    def _nest(self) -> None:
        """Put the run under its parent as soon as the parent has an id."""
        if self.settings.parent is None or self.nested:
            return
        parent = read_state(Path(self.settings.parent)).run_id
        if parent is not None:
            self.client.set_tag(self.state.run_id, PARENT_TAG, parent)
            self.nested = True


def _place(path: str) -> str | None:
    """The folder of an artifact in the tracker: its own in the run's folder; texts from the journal stand on top."""
    folder = str(Path(path).parent)
    return None if folder in (".", TEXTS) else folder


def _sqlite_file(uri: str) -> Path | None:
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


def _artifact_folder(uri: str) -> str | None:
    """`mlruns` beside an SQLite file; elsewhere the tracker's own default."""
    file = _sqlite_file(uri)
    return str(file.parent / "mlruns") if file else None


@contextmanager
def _alone(uri: str) -> Iterator[None]:
    """MLflow makes the tables of a new SQLite file on first use, and two processes doing so at once both
    fail."""
    file = _sqlite_file(uri)
    if file is None:
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{file}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
