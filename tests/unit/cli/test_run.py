"""`rldsl run` and `rldsl resume`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.runtime import checkpoint
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.tracking_values import flat

RECIPE = """recipe tiny {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = on_policy
  system       = sync on colocated
  model    { policy: "toy:llama-1x16" }
  data     { train: "toy:largest", prompts: 4 }
  optim    { adamw(lr: 1e-3) }
  budget   { steps: 2 }
  evaluate { "toy:largest", every: 2, problems: 5 }
  track    { mlflow: none }
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "tiny.rl").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_trains_reports_and_says_where(project: Path, capsys) -> None:
    assert main(["run", "tiny.rl", "--out", "here", "--format", "json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["run"]["status"] == "FINISHED" and out["run"]["steps"] == 2
    assert set(out["run"]["metrics"]) == {"held_out/score", "reward/mean"}
    assert Path(out["run"]["report"]).read_text().startswith("<!doctype html>")
    events = list(read_journal(project / "here"))
    params = flat(events[0].data["params"])
    assert params["feedback"] == "verify(exact)" and params["feedback.timeout"] == "30.0"
    kinds = [e.kind for e in events]
    assert kinds[0] == "start" and kinds[-1] == "end" and kinds.count("step") == 2
    assert sorted(p.name for p in (project / "here").iterdir() if p.is_file())[:3] == [
        "journal.jsonl", "machine.json", "objective.txt"]


def test_a_finished_run_can_be_resumed_and_has_nothing_to_do(project: Path, capsys) -> None:
    assert main(["run", "tiny.rl", "--out", "here"]) == 0
    assert main(["resume", "here"]) == 0
    assert "finished after step 2" in capsys.readouterr().out
    steps = [e.data["step"] for e in kept_events(read_journal(project / "here")) if e.kind == "step"]
    assert steps == [1, 2]


def test_a_detector_may_stop_a_run_and_mlflow_knows(project: Path, capsys) -> None:
    from mlflow import MlflowClient

    from rldsl.runtime.tracking import default_uri

    sets = ["budget.steps=9", "health=truncation(above: 0, patience: 2, then: stop)",
            'track.mlflow="sqlite:///mlflow.db"', "sampling.max_tokens=1"]
    code = main(["run", "tiny.rl", "--out", "here", "--format", "json", *(x for s in sets for x in ("--set", s))])
    out = json.loads(capsys.readouterr().out)
    assert code == 3 and out["run"]["status"] == "FAILED" and out["run"]["steps"] == 2
    assert [(d["code"], d["severity"]) for d in out["diagnostics"]] == [("RL614", "error")]
    end = list(read_journal(project / "here"))[-1]
    assert end.data["status"] == "FAILED" and end.data["error"].startswith("RL614 truncation: ")
    assert MlflowClient(default_uri(project)).get_run(out["run"]["mlflow"]["run_id"]).info.status == "FAILED"


def test_a_tracker_that_is_away_is_told_of_once_and_its_return_too(tmp_path) -> None:
    from types import SimpleNamespace

    from rldsl.cli.shared.session import Watched
    from rldsl.runtime.tracking import UploadState, write_state

    said: list[str] = []
    watched = Watched(tmp_path, SimpleNamespace(notice=said.append))
    watched.look()
    for error in ("refused " + "x" * 999, "refused", None, None, "refused"):
        write_state(tmp_path, UploadState(error=error))
        watched.look()
    assert [text.partition(":")[0] for text in said] == ["tracking is behind", "tracking has caught up",
                                                         "tracking is behind"]
    assert all(len(text) < 300 and "training goes on" in text for text in said[::2])


def test_the_seed_is_the_recipes_own(project: Path) -> None:
    assert main(["run", "tiny.rl", "--out", "here", "--seed", "7", "--set", "budget.steps=1"]) == 0
    plan = json.loads((project / "here" / "plan.json").read_text())
    assert plan["seed"] == 7 and plan["sets"] == ["budget.steps=1", "seed=7"]


@pytest.mark.parametrize("sets, code, says", [
    (["budget.steps=none"], 1, "RL202"),
    (['data.train="nowhere.jsonl"'], 4, "RL407"),
    (['model.policy="toy:gpt-1x16"'], 1, "RL201"),
    (['data.train="toy:additon"'], 1, "RL201"),
    (["model.max_prompt=2"], 4, "RL408"),
    (["system=sync on disaggregated(rollout: 1, train: 1)"], 4, "RL406"),
])
def test_what_is_missing_is_said_before_anything_runs(project: Path, capsys, sets: list[str], code: int,
                                                      says: str) -> None:
    args = [part for text in sets for part in ("--set", text)]
    assert main(["run", "tiny.rl", "--out", "here", *args]) == code
    assert says in capsys.readouterr().err
    assert not (project / "here").exists()


def test_a_folder_that_cannot_be_written(project: Path, capsys) -> None:
    (project / "file").touch()
    assert main(["run", "tiny.rl", "--out", "file/here"]) == 3
    assert "RL612" in capsys.readouterr().err


def test_a_disk_that_is_full_when_the_report_is_written(project: Path, capsys, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rldsl.runtime.report.write_png", full)
    assert main(["run", "tiny.rl", "--out", "here", "--set", "budget.steps=1"]) == 3
    err = capsys.readouterr().err
    assert "RL612" in err and "No space left" in err and "bug" not in err


def test_a_folder_that_is_no_run(project: Path, capsys) -> None:
    assert main(["resume", "."]) == 3
    assert "RL609" in capsys.readouterr().err


def test_a_run_whose_project_was_moved_away_leaves_nothing_behind(project: Path, capsys) -> None:
    assert main(["run", "tiny.rl", "--out", "here", "--set", "budget.steps=1"]) == 0
    gone = project / "gone"
    (project / "here" / "project.txt").write_text(str(gone))
    before = sorted(project.rglob("*"))
    assert main(["resume", "here"]) == 3
    err = capsys.readouterr().err
    assert "RL609" in err and str(gone) in err and "project.txt" in err
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("every, after", [(1, [1, 2, 3]), (2, [2, 3]), (4, [3])])
def test_checkpoints_are_as_far_apart_as_the_recipe_says(project: Path, every: int, after: list[int]) -> None:
    sets = ["--set", f"track.checkpoint_every={every}", "--set", "budget.steps=3"]
    assert main(["run", "tiny.rl", "--out", "here", *sets]) == 0
    written = [e.data["step"] for e in read_journal(project / "here") if e.kind == "checkpoint"]
    assert [step for step in written if step] == after


def test_a_run_that_is_still_at_work_is_left_alone(project: Path, capsys) -> None:
    import fcntl

    assert main(["run", "tiny.rl", "--out", "here", "--set", "budget.steps=1"]) == 0
    with open(project / "here" / "training.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(["resume", "here"]) == 3
    assert "another process is training" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_named_and_passed_over(project: Path, capsys) -> None:
    assert main(["run", "tiny.rl", "--out", "here"]) == 0
    (project / "here" / "checkpoints" / "batch-000002" / "policy.pt").write_bytes(b"half")
    assert main(["resume", "here"]) == 0
    assert "batch-000002 is passed over: policy.pt is not what was written" in capsys.readouterr().err
    steps = [e.data["step"] for e in kept_events(read_journal(project / "here")) if e.kind == "step"]
    assert steps == [1, 2]


def _of_another_version(state: dict) -> None:
    """Checkpoints that are whole, with another state."""
    for file in Path("here/checkpoints").glob("*/manifest.json"):
        body = json.loads(file.read_text())
        del body["sha256"]
        body["state"]["progress"] |= state
        file.write_text(json.dumps({**body, "sha256": checkpoint._digest(body)}, sort_keys=True))


@pytest.mark.parametrize("state", [{"ledger": {}}, {"since": 3}, {"ledger": None},
                                   {"pool": {"paused": False, "events": [], "groups": [{}]}}])
def test_a_checkpoint_of_another_version_is_told(project: Path, capsys, state: dict) -> None:
    flow = ["--set", "system=per_sample(in_flight: 16) on colocated", "--set", "distribution=tis"]
    assert main(["run", "tiny.rl", "--out", "here", *flow]) == 0
    _of_another_version(state)
    assert main(["resume", "here"]) == 3
    said = capsys.readouterr().err
    assert "RL609" in said and "was written by another version of rldsl" in said and "bug in rldsl" not in said


def test_a_plan_of_another_version_is_told(project: Path, capsys) -> None:
    """An earlier version kept a score as three parts, where this one has four."""
    assert main(["run", "tiny.rl", "--out", "here"]) == 0
    plan = json.loads((project / "here" / "plan.json").read_text())
    plan["objective"]["scores"] = [s[:3] for s in plan["objective"]["scores"]]
    (project / "here" / "plan.json").write_text(json.dumps(plan))
    for command in (["resume", "here"], ["diff", "here", "tiny.rl"]):
        assert main(command) == 4
        said = capsys.readouterr().err
        assert "RL407" in said and "another version of rldsl" in said and "start a new run" in said
