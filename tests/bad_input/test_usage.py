"""Commands, flags and names that do not exist."""

from __future__ import annotations

import pytest

from .answers import call, civil


@pytest.mark.parametrize("argv, says", [
    ([], "usage: rldsl"), (["trian", "tiny.rl"], "invalid choice: 'trian'"), (["run"], "required: FILE"),
    (["run", "tiny.rl", "--sed", "1", "--nope"], "--nope"), (["run", "tiny.rl", "--seed", "one"], "'one'"),
    (["run", "tiny.rl", "--set"], "expected one argument"), (["probe", "tiny.rl"], "BATCH.json"),
    (["run", "tiny.rl", "--format", "xml"], "'xml'"), (["--nope"], "usage: rldsl"), (["main"], "invalid choice"),
])
def test_wrong_usage_is_2(project, capsys, argv: list[str], says: str) -> None:
    answer = call(capsys, *argv)
    civil(answer)
    assert answer.code == 2 and answer.says(says, "usage: ")
    assert not (project / "runs").exists()


@pytest.mark.parametrize("argv, code, rl, says", [
    (["run", "tiny.rl", "--set", "gate"], 1, "RL101", "path=value"),
    (["run", "tiny.rl", "--set", "gate.hihg=1"], 1, "RL207", "high"),
    (["run", "tiny.rl", "--set", "model.polcy=1"], 1, "RL207", "policy"),
    (["run", "tiny.rl", "--profile", "toy"], 1, "RL201", "no profile `toy`"),
    (["run", "tiny.rl:small"], 1, "RL201", "no recipe `small`"),
    (["explain", "RL999"], 1, "RL201", "RL999"),
    (["explain", "gate.clop"], 1, "RL201", "`clip`"),
    (["axes", "gait"], 1, "RL201", "`gate`"),
    (["resume", "nowhere"], 3, "RL609", "no plan.json"),
    (["resume", "tiny.rl"], 3, "RL609", "tiny.rl"),
    (["fmt", "nowhere.rl"], 1, "RL206", "nowhere.rl"),
    (["diff", "tiny.rl", "nowhere.json"], 4, "RL407", "nowhere.json"),
])
def test_names_that_do_not_exist(project, capsys, argv: list[str], code: int, rl: str, says: str) -> None:
    answer = call(capsys, *argv)
    civil(answer)
    assert answer.code == code, answer.text
    answer.says(f"error[{rl}]", "fix: ", says)
