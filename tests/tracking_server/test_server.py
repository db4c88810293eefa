"""Runs and sweeps tracked by a real MLflow server over HTTP; it goes down before, in the middle and for good."""

from __future__ import annotations

from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.runtime.journal import Journal, read_journal
from rldsl.runtime.tracking import Tracker, TrackingSettings, read_state, tracking_report
from tests.unit.experiments.conftest import RECIPE, SWEEP

from .conftest import PATIENCE, Server, until


@pytest.fixture
def project(tmp_path: Path, monkeypatch, server: Server) -> Path:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    text = (RECIPE + SWEEP).replace("mlflow: none", f'mlflow: "{server.uri}", experiment: "{tmp_path.name}"')
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "tiny.rl").write_text(text.replace("0.2, 0.3, 0.4", "0.2, 0.3").replace("1..2", "1..1"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def history(server: Server, run: str, key: str) -> list[tuple[int, float]]:
    return sorted((m.step, m.value) for m in server.client.get_metric_history(run, key))


def test_a_sweep_arrives_over_http_with_its_traces_and_plans(server, project, capsys) -> None:
    assert main(["sweep", "tiny.rl", "--jobs", "2", "--format", "json"]) == 0
    capsys.readouterr()
    experiment = server.client.get_experiment_by_name(project.name).experiment_id
    runs = server.client.search_runs([experiment], filter_string="attributes.status = 'FINISHED'")
    parent = next(r for r in runs if "kind" in r.data.tags)
    children = [r for r in runs if r.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert len(runs) == 3 and sorted(r.data.params["point.gate.high"] for r in children) == ["0.2", "0.3"]
    child = children[0].info.run_id
    assert [s for s, _ in history(server, child, "reward/mean")] == [1, 2]
    top = {a.path for a in server.client.list_artifacts(child)}
    assert top >= {"plan.json", "recipe.rl", "objective.txt", "traces"}
    pages = [a.path for a in server.client.list_artifacts(child, "traces")]
    assert pages == ["traces/batch-000001.html", "traces/batch-000002.html"]
    folder = next(p.parent for p in project.glob("runs/*/uploaded.json") if read_state(p.parent).run_id == child)
    path = server.client.download_artifacts(child, pages[0], str(project))
    assert Path(path).read_text() == (folder / pages[0]).read_text()
    ids = [f"mlflow:{r.info.run_id}" for r in children]
    assert main(["diff", *ids, "--mlflow", server.uri]) == 0 and "gate: `high`" in capsys.readouterr().out


def test_an_outage_in_the_middle_loses_and_doubles_nothing(server, tmp_path) -> None:
    folder = tmp_path / "run"
    with Journal(folder) as journal:
        journal.append("start", name="outage", params={"gate": "clip"}, recipe="recipe x {}\n")
        tracker = Tracker(folder, TrackingSettings(server.uri, "outage", "outage"))
        for step in range(1, 31):
            journal.append("step", step=step, metrics={"reward": float(step), "loss": -float(step)})
            if step == 10:
                until(lambda: tracker.report().pending == 0, "the first ten steps")
                server.kill()
            if step == 20:
                until(lambda: tracker.report().error, "the failure to be noted")
                assert tracker.report().pending == 10
                (folder / "late.txt").write_text("written while nobody listened")
                journal.append("artifact", path="late.txt")
                server.start()
        journal.append("end", status="FINISHED")
        report = tracker.finish(PATIENCE)
    assert (report.pending, report.degraded, report.error) == (0, False, None)
    for key, sign in (("reward", 1.0), ("loss", -1.0)):
        assert history(server, report.run_id, key) == [(i, sign * i) for i in range(1, 31)]
    experiment = server.client.get_experiment_by_name("outage").experiment_id
    assert [r.info.status for r in server.client.search_runs([experiment])] == ["FINISHED"]
    assert {"late.txt", "params.json"} <= {a.path for a in server.client.list_artifacts(report.run_id)}


def test_down_at_the_start_the_run_goes_on_and_resume_uploads_it(server, project, capsys, monkeypatch) -> None:
    monkeypatch.setattr("rldsl.runtime.tracking.Tracker.finish.__defaults__", (1.0,))
    server.kill()
    try:
        assert main(["run", "tiny.rl", "--out", "here", "--set", "budget.steps=40"]) == 0
        out = capsys.readouterr()
        assert "incomplete" in out.out and "upload later with  rldsl resume here" in out.out
        assert "finished after step 40" in out.out
        assert main(["sweep", "tiny.rl"]) == 4 and "RL409" in capsys.readouterr().err
    finally:
        server.start()
    assert tracking_report(Path("here")).pending > 40 and read_state(Path("here")).run_id is None
    monkeypatch.setattr("rldsl.runtime.tracking.Tracker.finish.__defaults__", (PATIENCE,))
    assert main(["resume", "here"]) == 0 and "(complete)" in capsys.readouterr().out
    run = read_state(Path("here")).run_id
    assert [s for s, _ in history(server, run, "reward/mean")] == list(range(1, 41))
    assert server.client.get_run(run).info.status == "FINISHED"
    assert sum(e.kind == "step" for e in read_journal(Path("here"))) == 40
