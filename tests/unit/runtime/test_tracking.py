"""Tracking against a real SQLite store: what arrives, once each, whatever dies."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow import MlflowClient

from rldsl.runtime.journal import Journal
from rldsl.runtime.tracking import (
    LOG_FILE,
    SETTINGS_FILE,
    Tracker,
    TrackingSettings,
    default_uri,
    read_state,
    tracking_report,
    upload,
    write_state,
)
from rldsl.runtime.tracking_mlflow import Upload

PATIENT = 120.0


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def client(project):
    return MlflowClient(default_uri(project))


def settings(project, name, **more):
    return TrackingSettings(default_uri(project), "experiment", name, **more)


def history(client, run_id, key):
    return [(m.step, m.value) for m in sorted(client.get_metric_history(run_id, key), key=lambda m: m.step)]


def log_steps(journal, steps, offset=0.0):
    for step in steps:
        journal.append("step", step=step, metrics={"reward": step + offset, "loss": -step, "skipped": None})


def test_a_run_arrives_whole(project, client, tmp_path):
    recipe = "recipe x {\r\n  gate = clip\n}\n"
    with Journal(tmp_path) as journal:
        params = {"gate": {"name": "clip", "note": "n" * 10_000}, "many": {f"p{i}": i for i in range(600)}}
        for name, text in (("plan.json", "{}"), ("recipe.rl", recipe), ("objective.txt", "J = …")):
            (tmp_path / name).write_bytes(text.encode())
        journal.append("start", name="whole", params=params, tags={"rldsl.fingerprint.objective": "abc"},
                       recipe=recipe, formula="J = …", artifacts=["plan.json", "recipe.rl", "objective.txt"])
        tracker = Tracker(tmp_path, settings(project, "whole"))
        log_steps(journal, range(1, 31))
        journal.append("evaluate", step=30, metrics={"held_out/reward": 0.5})
        journal.append("end", status="FINISHED")
        report = tracker.finish(PATIENT)
    assert (report.pending, report.degraded, report.error) == (0, False, None)
    run = client.get_run(report.run_id)
    assert run.info.status == "FINISHED" and run.info.run_name == "whole"
    assert run.data.tags["rldsl.fingerprint.objective"] == "abc"
    assert len(run.data.params) == 602 and run.data.params["gate.name"] == "clip"
    assert len(run.data.params["gate.note"]) <= 500
    assert history(client, report.run_id, "reward") == [(i, float(i)) for i in range(1, 31)]
    assert history(client, report.run_id, "held_out/reward") == [(30, 0.5)]
    assert "skipped" not in run.data.metrics
    artifacts = Path(run.info.artifact_uri)
    assert (artifacts / "recipe.rl").read_bytes() == recipe.encode()
    assert json.loads((artifacts / "params.json").read_text())["gate.note"] == "n" * 10_000
    assert sorted(f.name for f in artifacts.iterdir()) == ["objective.txt", "params.json", "plan.json", "recipe.rl"]
    assert (artifacts / "objective.txt").read_text() == "J = …"


def test_a_file_store_takes_the_same(tmp_path):
    uri = f"file://{tmp_path / 'mlruns'}"
    with Journal(tmp_path / "run") as journal:
        journal.append("start", name="files", params={"gate": "clip"}, recipe="recipe x {}\n")
        tracker = Tracker(tmp_path / "run", TrackingSettings(uri, "files", "files"))
        log_steps(journal, range(1, 4))
        journal.append("system", step=3, metrics={"system/load": 0.5})
        (tmp_path / "run" / "traces").mkdir()
        (tmp_path / "run" / "traces" / "batch-000001.html").write_text("page")
        journal.append("artifact", path="traces/batch-000001.html")
        journal.append("end", status="FINISHED")
        report = tracker.finish(PATIENT)
    assert (report.pending, report.degraded, report.error) == (0, False, None)
    run = next((tmp_path / "mlruns").glob(f"*/{report.run_id}"))
    assert [line.split()[1:] for line in (run / "metrics" / "reward").read_text().splitlines()] == [
        ["1.0", "1"], ["2.0", "2"], ["3.0", "3"]]
    assert (run / "params" / "gate").read_text() == "clip"
    assert (run / "metrics" / "system" / "load").read_text().split()[1] == "0.5"
    assert (run / "artifacts" / "traces" / "batch-000001.html").read_text() == "page"


def test_a_resume_reopens_the_run_and_doubles_no_step(project, client, tmp_path):
    where = settings(project, "resumed", id=str(tmp_path))
    with Journal(tmp_path) as journal:
        journal.append("start", name="resumed", params={"a": 1})
        log_steps(journal, range(1, 6))
    killed = Upload(tmp_path, where)
    killed.pump()
    killed.close("KILLED", time.time())
    first = killed.state.run_id
    assert client.get_run(first).info.status == "KILLED"
    with Journal(tmp_path) as journal:
        journal.append("resume", step=3)
        log_steps(journal, range(4, 9))
    resumed = Upload(tmp_path, where)
    assert client.get_run(first).info.status == "RUNNING"
    resumed.pump()
    resumed.close("FINISHED", time.time())
    assert resumed.state.run_id == first
    assert history(client, first, "reward") == [(i, float(i)) for i in range(1, 9)]
    assert client.get_run(first).info.status == "FINISHED"


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_killed_training_is_seen_and_its_last_steps_arrive(project, client, tmp_path):
    code = f"""
import os, time
from pathlib import Path
from rldsl.runtime.journal import Journal
from rldsl.runtime.tracking import Tracker, TrackingSettings
journal = Journal(Path({str(tmp_path)!r}))
journal.append("start", name="killed")
tracker = Tracker(Path({str(tmp_path)!r}), TrackingSettings({default_uri(project)!r}, "experiment", "killed"))
for step in range(5):
    journal.append("step", step=step, metrics={{"reward": float(step)}})
import sys
assert "mlflow" not in sys.modules
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    wait_for(lambda: read_state(tmp_path).status == "KILLED")
    run_id = read_state(tmp_path).run_id
    assert client.get_run(run_id).info.status == "KILLED"
    assert history(client, run_id, "reward") == [(i, float(i)) for i in range(5)]


def test_an_uploader_that_dies_without_its_notes_finds_its_run_and_doubles_nothing(project, client, tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="forgetful")
        tracker = Tracker(tmp_path, settings(project, "forgetful"))
        log_steps(journal, range(3))
        wait_for(lambda: (read_state(tmp_path).last_step or {}).get("step") == 2)
        os.kill(tracker._process.pid, signal.SIGKILL)
        first = read_state(tmp_path).run_id
        (tmp_path / "uploaded.json").unlink()
        log_steps(journal, range(3, 5))
        journal.append("end", status="FAILED", error="x")
        assert tracker.finish(PATIENT).pending > 0
    report = upload(tmp_path)
    assert (report.run_id, report.pending, report.degraded) == (first, 0, False)
    assert history(client, first, "reward") == [(i, float(i)) for i in range(5)]
    assert client.get_run(first).info.status == "FAILED"


def test_a_run_that_ends_before_its_parent_is_there_waits_for_it(project, client, tmp_path):
    parent, child = tmp_path / "parent", tmp_path / "child"
    parent.mkdir()
    with Journal(child) as journal:
        tracker = Tracker(child, settings(project, "quick", parent=str(parent)))
        journal.append("end", status="FINISHED")
    assert not tracker.finish(PATIENT).degraded, "a parent that is not tracked is not waited for"
    (parent / SETTINGS_FILE).write_text("{}")
    assert upload(child, 1.0).error == "the run that this one belongs under is not there yet"
    write_state(parent, replace(read_state(parent), run_id="abc"))
    assert not upload(child, PATIENT).degraded
    assert client.get_run(tracking_report(child).run_id).data.tags["mlflow.parentRunId"] == "abc"


def test_interleaved_trials_keep_to_their_runs_under_one_parent(project, client, tmp_path):
    folders = {name: tmp_path / name for name in ("t0", "t1", "t2", "t3", "parent")}
    journals = {name: Journal(folder) for name, folder in folders.items()}
    parents = {name: None if name == "parent" else str(folders["parent"]) for name in folders}
    uploads = {name: Upload(folder, settings(project, name, parent=parents[name], id=f"{tmp_path}/{name}"))
               for name, folder in folders.items()}
    for step in range(10):
        for number in range(4):
            journals[f"t{number}"].append("step", step=step, metrics={"value": number})
            uploads[f"t{number}"].pump()
    for upload_ in uploads.values():
        upload_.close("FINISHED", time.time())
    assert len({upload_.state.run_id for upload_ in uploads.values()}) == 5
    for number in range(4):
        run = client.get_run(uploads[f"t{number}"].state.run_id)
        assert run.data.tags["mlflow.parentRunId"] == uploads["parent"].state.run_id
        assert history(client, run.info.run_id, "value") == [(step, float(number)) for step in range(10)]


def test_two_processes_may_make_the_database_at_once(tmp_path):
    trackers = {}
    for name in ("a", "b"):
        with Journal(tmp_path / name) as journal:
            journal.append("start", name=name)
            trackers[name] = Tracker(tmp_path / name, settings(tmp_path, name))
            journal.append("end", status="FINISHED")
    reports = [tracker.finish(PATIENT) for tracker in trackers.values()]
    assert all(report.pending == 0 and not report.degraded for report in reports)
    assert reports[0].run_id != reports[1].run_id
    assert "Error" not in (tmp_path / "a" / LOG_FILE).read_text() + (tmp_path / "b" / LOG_FILE).read_text()


def test_a_refused_value_costs_itself_only(project, client, tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="refused", artifacts=["missing.bin"])
        journal.append("step", step=1, metrics={"reward": 1.0, "": 2.0, "loss": 3.0})
    upload_ = Upload(tmp_path, settings(project, "refused", id=str(tmp_path)))
    upload_.pump()
    assert len(upload_.state.refused) == 2 and not upload_.state.owed
    assert history(client, upload_.state.run_id, "loss") == [(1, 3.0)]
    report = tracking_report(tmp_path)
    assert report.degraded and report.pending == 0
