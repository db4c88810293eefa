"""Pipelines that are none, folders that are no pipeline's, and commands that want a recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.cli.main import main

from .answers import RECIPE, call, civil, refused

PIPELINE = "pipeline p {\n  stage a = tiny\n  stage b = tiny { budget { steps: 1 } } from a\n}\n"
BATCH = '{"responses": [{"prompt": "p", "reward": 1, "logp_current": [-1.0], "logp_old": [-1.0]}]}'


@pytest.fixture
def piped(project: Path) -> Path:
    (project / "p.rl").write_text(RECIPE + PIPELINE)
    return project


WRONG = {
    "no stage": ("pipeline p {\n}\n", "RL202", "no stage"),
    "unknown recipe": ("pipeline p {\n  stage a = tyni\n}\n", "RL201", "tiny"),
    "a sweep as a recipe": ("sweep s of tiny { seed in 1..2 }\npipeline p {\n  stage a = s\n}\n", "RL201", "a sweep"),
    "unknown stage": ("pipeline p {\n  stage a = tiny from b\n}\n", "RL329", "no stage `b`"),
    "from itself": ("pipeline p {\n  stage a = tiny from a\n}\n", "RL329", "a ← a"),
    "two stages of one name": ("pipeline p {\n  stage a = tiny\n  stage a = tiny\n}\n", "RL110", "a"),
    "two pipelines of one name": (PIPELINE + PIPELINE, "RL110", "p"),
    "a pipeline as a stage": ("pipeline q {\n  stage a = tiny\n}\npipeline p {\n  stage a = q\n}\n", "RL201",
                              "a pipeline, not a recipe"),
    "an override that is not there": ("pipeline p {\n  stage a = tiny { gate.hihg = 1 }\n}\n", "RL207", "high"),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("command", ["run", "compile", "explain"])
def test_a_pipeline_that_is_none(project: Path, capsys, kind: str, command: str) -> None:
    text, code, says = WRONG[kind]
    (project / "p.rl").write_text(RECIPE + text)
    refused(capsys, 1, code, "p.rl", says, argv=[command, "p.rl:p"])
    assert not (project / "runs").exists()


@pytest.mark.parametrize("argv, code, says", [
    (["probe", "p.rl:p", "batch.json"], "RL201", "a pipeline, not a recipe"),
    (["sweep", "p.rl:p"], "RL201", "a pipeline, not a sweep"),
    (["ablate", "p.rl:p", "p.rl:tiny"], "RL201", "a pipeline, not a recipe"),
    (["diff", "p.rl:p", "p.rl:tiny"], "RL201", "p.rl:p.STAGE"),
    (["run", "p.rl"], "RL202", "2 recipes and pipelines"),
    (["run", "p.rl:q"], "RL201", "`q`"),
    (["run", "p.rl:p.c"], "RL201", "no stage `c`"),
    (["run", "p.rl:p", "--profile", "toy"], "RL201", "no profile `toy`"),
    (["run", "p.rl:p", "--set", "c.budget.steps=1"], "RL201", "`c`"),
    (["run", "p.rl:p", "--set", "b.budget.stpes=1"], "RL207", "steps"),
    (["explain", "p.rl:p", "gate.low"], "RL207", "p.rl:p.STAGE"),
])
def test_commands_say_what_they_want(piped: Path, capsys, argv: list[str], code: str, says: str) -> None:
    (piped / "batch.json").write_text(BATCH)
    refused(capsys, 1, code, says, argv=argv)


@pytest.fixture
def finished(piped: Path, capsys) -> Path:
    """A run of the pipeline."""
    assert main(["run", "p.rl:p", "--out", "here"]) == 0
    return piped / "here"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 99}', '{"version": 1, "stages": 3}'])
def test_a_damaged_plan_is_told(finished: Path, capsys, text: str) -> None:
    (finished / "pipeline.json").write_text(text)
    refused(capsys, 4, "RL407", "pipeline.json", argv=["resume", "here"])
    refused(capsys, 4, "RL407", "pipeline.json", argv=["report", "here"])


def test_a_stage_whose_checkpoints_are_damaged_is_told(finished: Path, capsys) -> None:
    for file in (finished / "a" / "checkpoints").glob("*/policy.pt"):
        file.write_bytes(b"nothing")
    (finished / "b" / "journal.jsonl").unlink()
    answer = call(capsys, "resume", "here")
    civil(answer)
    assert answer.code == 3 and answer.says("RL609", "failed in the stage `b`")


def test_a_stage_whose_plan_is_gone_is_made_anew(finished: Path, capsys) -> None:
    (finished / "b" / "plan.json").unlink()
    (finished / "b" / "journal.jsonl").unlink()
    assert main(["resume", "here"]) == 0
    assert json.loads((finished / "b" / "plan.json").read_text())["name"] == "tiny"


def test_a_stage_that_no_backend_can_run_stops_it_before_the_first(piped: Path, capsys) -> None:
    apart = "system = one_step_off on disaggregated(rollout: 1, train: 1)\n    distribution = tis"
    text = PIPELINE.replace("{ budget { steps: 1 } }", "{\n    " + apart + "\n  }")
    (piped / "p.rl").write_text(RECIPE + text)
    refused(capsys, 4, "RL406", "stage b", "this stage", argv=["run", "p.rl:p"])
    assert not (piped / "runs").exists()
