"""Tracking against an HTTP server that fails: training goes on, and the server has every step once in the
end."""

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rldsl.runtime.journal import Journal
from rldsl.runtime.tracking import Tracker, TrackingSettings, read_settings, read_state, tracking_report, upload


class Store:
    """The part of MLflow's REST interface that the uploader uses, in memory; `down` makes every call a
    500."""

    def __init__(self, artifacts):
        self.artifacts, self.down, self.calls = artifacts, False, 0
        self.experiments, self.runs, self.metrics = {}, {}, []

    def answer(self, path, body):
        name = path.partition("mlflow/")[2].partition("?")[0]
        method = getattr(self, name.replace("/", "_").replace("-", "_"), None)
        return (404, {"error_code": "ENDPOINT_NOT_FOUND"}) if method is None else method(body)

    def experiments_search(self, body):
        return 200, {"experiments": []}

    def experiments_get_by_name(self, body):
        if "x" not in self.experiments:
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no"}
        return 200, {"experiment": {"experiment_id": "1", "name": "x", "lifecycle_stage": "active"}}

    def experiments_create(self, body):
        self.experiments["x"] = True
        return 200, {"experiment_id": "1"}

    def runs_search(self, body):
        return 200, {"runs": [self.run(i) for i in self.runs]}

    def run(self, run_id):
        info = {"run_id": run_id, "experiment_id": "1", "status": self.runs[run_id],
                "artifact_uri": str(self.artifacts), "lifecycle_stage": "active"}
        return {"info": info, "data": {}}

    def runs_create(self, body):
        run_id = f"run{len(self.runs)}"
        self.runs[run_id] = "RUNNING"
        return 200, {"run": self.run(run_id)}

    def runs_get(self, body):
        return 200, {"run": self.run("run0")}

    def runs_update(self, body):
        self.runs[body["run_id"]] = body["status"]
        return 200, {"run_info": self.run(body["run_id"])["info"]}

    def runs_log_batch(self, body):
        self.metrics += [(m["step"], m["value"]) for m in body.get("metrics", [])]
        return 200, {}


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "artifacts")

    class Handler(BaseHTTPRequestHandler):
        def reply(self):
            store.calls += 1
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, answer = (500, {}) if store.down else store.answer(self.path, json.loads(body or "{}"))
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = reply

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    store.uri = f"http://127.0.0.1:{server.server_address[1]}"
    yield store
    server.shutdown()


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_an_outage_in_the_middle_loses_and_doubles_nothing(store, tmp_path):
    folder = tmp_path / "run"
    with Journal(folder) as journal:
        journal.append("start", name="x", recipe="recipe x {}\n")
        tracker = Tracker(folder, TrackingSettings(store.uri, "x", "x"))
        for step in range(10):
            journal.append("step", step=step, metrics={"reward": float(step)})
            if step == 3:
                wait_for(lambda: len(store.metrics) == 4)
                store.down = True
            if step == 6:
                wait_for(lambda: tracker.report().error)  # owed artifacts alone degrade it as well
                assert tracker.report().pending == 3
                store.down = False
        journal.append("end", status="FINISHED")
        report = tracker.finish(120.0)
    assert (report.pending, report.degraded) == (0, False)
    assert sorted(store.metrics) == [(i, float(i)) for i in range(10)]
    assert store.runs == {"run0": "FINISHED"}
    assert json.loads((store.artifacts / "params.json").read_text()) == {}


def test_down_from_start_to_end_and_replayed_later(store, tmp_path):
    store.down = True
    folder = tmp_path / "run"
    with Journal(folder) as journal:
        journal.append("start", name="x")
        tracker = Tracker(folder, TrackingSettings(store.uri, "x", "x"))
        for step in range(5):
            journal.append("step", step=step, metrics={"reward": float(step)})
        journal.append("end", status="FAILED", error="boom")
        wait_for(lambda: tracker.report().error)
        start = time.monotonic()
        report = tracker.finish(deadline=1.0)
        assert time.monotonic() - start < 3
    assert report.degraded and report.pending == 7 and "500" in report.error
    assert store.metrics == []
    store.down = False
    assert upload(folder).pending == 0
    assert Counter(step for step, _ in store.metrics) == dict.fromkeys(range(5), 1)
    assert store.runs == {"run0": "FAILED"} and not tracking_report(folder).degraded
    assert read_state(folder).run_id == "run0"


def test_what_is_not_uploaded_is_not_complete_even_before_a_failure_is_noted(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="x")
    assert tracking_report(tmp_path).degraded and tracking_report(tmp_path).error is None


def test_a_server_that_is_not_there(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="x")
        with Tracker(tmp_path, TrackingSettings("http://127.0.0.1:9", "x", "x")) as tracker:
            journal.append("end", status="FINISHED")
            wait_for(lambda: tracker.report().error)
            assert tracker.finish(deadline=0.5).degraded


def test_without_mlflow_training_goes_on(tmp_path, monkeypatch):
    (tmp_path / "mlflow.py").write_text("raise ImportError('no mlflow here')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with Journal(tmp_path / "run") as journal:
        journal.append("start", name="x")
        tracker = Tracker(tmp_path / "run", TrackingSettings("sqlite:///x.db", "x", "x"))
        wait_for(lambda: tracker.report().error)
        journal.append("end", status="FINISHED")
        report = tracker.finish(deadline=1.0)
    assert report.degraded and "no mlflow here" in report.error


def test_a_resumed_run_keeps_its_identity(tmp_path):
    ids = []
    for uri in ("http://127.0.0.1:9", "http://127.0.0.1:10"):
        with Journal(tmp_path) as journal:
            journal.append("start", name="x")
            Tracker(tmp_path, TrackingSettings(uri, "x", "x")).finish(deadline=0.1)
        ids.append(read_settings(tmp_path).id)
    assert len(ids[0]) == 32 and ids[0] == ids[1]
