"""A real sweep, trained and tracked: the parent, its children, and a killed driver in MLflow's own words."""

from __future__ import annotations

import json

from mlflow import MlflowClient

from rldsl.cli.main import main
from rldsl.experiments.driver import environment
from rldsl.runtime.tracking import default_uri


def test_a_sweep_is_a_run_with_children(project, capsys, monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    text = (project / "tiny.rl").read_text().replace("mlflow: none", 'mlflow: "sqlite:///mlflow.db"')
    (project / "tiny.rl").write_text(text.replace("0.2, 0.3, 0.4", "0.2, 0.3").replace("1..2", "1..1"))
    assert main(["sweep", "tiny.rl", "--jobs", "2", "--format", "json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert [r["status"] for r in out["runs"]] == ["FINISHED"] * 2
    client = MlflowClient(default_uri(project))
    runs = client.search_runs([client.get_experiment_by_name("s").experiment_id])
    parent = next(r for r in runs if "kind" in r.data.tags)
    children = [r for r in runs if r is not parent]
    assert len(children) == 2 and {r.data.tags["mlflow.parentRunId"] for r in children} == {parent.info.run_id}
    assert {r.info.status for r in runs} == {"FINISHED"}
    assert sorted(r.data.params["point.gate.high"] for r in children) == ["0.2", "0.3"]
    experiments = {r["experiment"] for r in out["runs"]}
    assert {r.data.tags["fingerprint.experiment"] for r in children} == experiments
    assert parent.data.params["runs"] == "2" and parent.data.metrics["runs/done"] == 2
    names = {a.path for a in client.list_artifacts(parent.info.run_id)}
    assert names >= {"expansion.json", "points.json", "report.html"}
    path = client.download_artifacts(parent.info.run_id, "points.json", str(project))
    with open(path) as file:
        assert {p["run_id"] for p in json.load(file)} == {r.info.run_id for r in children}


def test_children_share_the_processors(monkeypatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert environment(3)["OMP_NUM_THREADS"] == "2" and environment(99)["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert environment(3)["OMP_NUM_THREADS"] == "5"
