"""A pipeline killed in its third stage, and one that is tracked: what is finished stays, and the rest is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mlflow import MlflowClient

from rldsl.cli.main import main
from rldsl.experiments.driver import alone
from rldsl.runtime.folder import LOCK
from rldsl.runtime.journal import FILE, Journal, kept_events, read_journal
from rldsl.runtime.tracking import default_uri

from ..cli.test_pipelines import RECIPES
from .conftest import RECIPE

ROOT = Path(__file__).parents[3]
STAGES = """
pipeline p {
  stage one   = tiny
  stage two   = tiny { gate.high = 0.3 } from one
  stage three = tiny { budget { steps: 18 } } from two
  stage four  = tiny from three
}
"""


@pytest.fixture
def piped(project: Path) -> Path:
    """The working directory: tiny.rl with the pipeline `p` of four stages."""
    (project / "tiny.rl").write_text(RECIPE + STAGES)
    return project


def at_event(folder: str, kind: str, step: int, do: Callable[[], None], monkeypatch) -> None:
    """Does something just before an event (of a step) is written into the journal of a folder."""
    append = Journal.append

    def watched(self: Journal, what: str, /, **data) -> int:
        if what == kind and self.path.parent.name == folder and data.get("step") == step:
            do()
        return append(self, what, **data)

    monkeypatch.setattr(Journal, "append", watched)


def killed_at(folder: Path, where: str, kind: str, step: int) -> None:
    """Runs the pipeline in a process of its own, which dies there by SIGKILL."""
    code = ("import os, signal, sys; import pytest; from tests.unit.experiments.test_pipelines import at_event;"
            "die = lambda: os.kill(os.getpid(), signal.SIGKILL);"
            f"at_event({where!r}, {kind!r}, {step}, die, pytest.MonkeyPatch());"
            "from rldsl.cli.main import main; sys.exit(main(['run', 'tiny.rl:p', '--out', sys.argv[1]]))")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr


def final(folder: Path, stage: str) -> dict:
    newest = sorted((folder / stage / "checkpoints").glob("batch-*"))[-1]
    return torch.load(newest / "policy.pt", weights_only=True)


def test_a_pipeline_killed_in_its_third_stage_goes_on_there(piped: Path) -> None:
    whole, killed = piped / "whole", piped / "killed"
    torch.set_num_threads(1)
    assert main(["run", "tiny.rl:p", "--out", str(whole)]) == 0
    killed_at(killed, "three", "step", 15)
    assert not (killed / "four").exists() and not [e for e in read_journal(killed) if e.kind == "end"]
    before = {s: (killed / s / FILE).read_bytes() for s in ("one", "two")}
    assert main(["resume", str(killed)]) == 0
    assert before == {s: (killed / s / FILE).read_bytes() for s in ("one", "two")}
    assert [e.data["step"] for e in read_journal(killed / "three") if e.kind == "resume"] == [10]
    assert [e.data["step"] for e in kept_events(read_journal(killed / "three")) if e.kind == "step"] == [*range(1, 19)]
    assert [e.data["step"] for e in read_journal(killed) if e.kind == "evaluate"] == [1, 2, 3, 4]
    for stage in ("one", "two", "three", "four"):
        a, b = final(whole, stage), final(killed, stage)
        assert all(torch.equal(a[name], b[name]) for name in a), stage


COLLECTING = """
pipeline p {
  stage one     = tiny
  stage harvest = harvesting { budget { steps: 4 } } from one
  stage tuned   = tuning(data: harvest) from one
}
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """An undisturbed run of COLLECTING."""
    folder = tmp_path_factory.mktemp("collecting")
    (folder / "rldsl.toml").touch()
    (folder / "tiny.rl").write_text(RECIPES + COLLECTING)
    torch.set_num_threads(1)
    assert main(["run", f"{folder / 'tiny.rl'}:p", "--out", str(folder / "whole")]) == 0
    return folder / "whole"


@pytest.mark.parametrize("where, kind, step", [("harvest", "step", 3), ("killed", "evaluate", 2)])
def test_what_was_collected_is_the_same_wherever_it_is_killed(project: Path, whole: Path, where: str, kind: str,
                                                              step: int) -> None:
    """In the middle of a collection; between the end of a stage and the note of it."""
    (project / "tiny.rl").write_text(RECIPES + COLLECTING)
    killed = project / "killed"
    killed_at(killed, where, kind, step)
    assert main(["resume", str(killed)]) == 0
    one, other = ((f / "harvest" / "responses.jsonl").read_bytes() for f in (whole, killed))
    assert one == other and one
    assert [e.data["step"] for e in read_journal(killed) if e.kind == "evaluate"] == [1, 2, 3]
    a, b = final(whole, "tuned"), final(killed, "tuned")
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_an_interrupted_pipeline_says_so_and_goes_on(piped: Path, capsys) -> None:
    with pytest.MonkeyPatch.context() as patch:
        at_event("three", "step", 5, lambda: os.kill(os.getpid(), signal.SIGTERM), patch)
        assert main(["run", "tiny.rl:p", "--out", "here"]) == 3
    assert "killed in the stage `three`" in capsys.readouterr().out
    for folder in (piped / "here", piped / "here" / "three"):
        assert [e.data["status"] for e in read_journal(folder) if e.kind == "end"] == ["KILLED"]
    assert main(["resume", "here"]) == 0


def test_two_processes_do_not_run_one_pipeline(piped: Path, capsys) -> None:
    (piped / "tiny.rl").write_text(RECIPE + "pipeline p {\n stage one = tiny\n}\n")
    assert main(["run", "tiny.rl:p", "--out", "here"]) == 0
    with alone(piped / "here", LOCK):
        assert main(["resume", "here"]) == 3 and "RL609" in capsys.readouterr().err


def test_a_tracked_pipeline_is_a_run_with_a_child_for_each_stage(piped: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    text = (piped / "tiny.rl").read_text().replace("mlflow: none", 'mlflow: "sqlite:///mlflow.db"')
    (piped / "tiny.rl").write_text(text.replace("steps: 18", "steps: 2").partition("  stage three")[0] + "}\n")
    assert main(["run", "tiny.rl:p", "--out", "here", "--format", "json"]) == 0
    out = json.loads(capsys.readouterr().out)["pipeline"]
    client = MlflowClient(default_uri(piped))
    runs = client.search_runs([client.get_experiment_by_name("p").experiment_id])
    parent = next(r for r in runs if r.data.tags.get("kind") == "pipeline")
    children = {r.data.tags["mlflow.runName"]: r for r in runs if r is not parent}
    assert parent.info.run_id == out["mlflow"]["run_id"] and set(children) == {"one", "two"}
    assert {r.data.tags["mlflow.parentRunId"] for r in children.values()} == {parent.info.run_id}
    assert {r.data.tags["pipeline.stage"] for r in children.values()} == {"one", "two"}
    assert {r.info.status for r in runs} == {"FINISHED"}
    assert parent.data.metrics["stage/two"] == children["two"].data.metrics["held_out/score"]
    assert parent.data.params["stages.two.takes"] == "from one"
    assert {a.path for a in client.list_artifacts(parent.info.run_id)} >= {"pipeline.json", "recipe.rl", "report.html"}
