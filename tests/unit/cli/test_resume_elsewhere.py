"""`rldsl resume RUN --set …`: the same experiment in another place, and nothing else."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import read_plan, write_text
from rldsl.compiler.resolve import resolve
from rldsl.compiler.resolve.relaid import relaid
from rldsl.diagnostics import RecipeError
from rldsl.runtime.folder import PLAN, PROJECT

RECIPE = """recipe r {
  feedback     = verify(exact)
  sampling     = group(4, max_tokens: 6)
  advantage    = group_norm
  ratio        = token(current / old)
  gate         = clip(0.2)
  reduction    = token_mean
  distribution = tis(2.0)
  system       = sync on disaggregated(rollout: 1, train: 2)
  model { policy: "toy:llama-2x128", dtype: float32 }
  data { train: "toy:reverse", prompts: 4 }
  optim { adamw(lr: 1e-4), updates_per_batch: 2 }
  budget { steps: 2 }
  cluster { nodes: 1, tensor: 2 }
  track { mlflow: none }
}
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch):
    (tmp_path / "rldsl.toml").touch()
    (tmp_path / "r.rl").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return compile_recipe(resolve("r.rl"))[0]


def test_the_layout_and_the_placement_change(plan) -> None:
    made = relaid(plan, ["cluster.tensor=1", "cluster.pipeline=2",
                         "system=sync on disaggregated(rollout: 2, train: 4)"])
    cluster = made.recipe["settings"]["cluster"]
    assert (cluster["tensor"], cluster["pipeline"], cluster["nodes"]) == (1, 2, 1)
    assert made.recipe["axes"]["placement"]["params"] == {"rollout": 2, "train": 4, "versions": 1}
    kept = {"objective", "data", "experiment"}
    assert {k for k in made.fingerprints if made.fingerprints[k] == plan.fingerprints[k]} == kept
    same = ("formula", "objective", "graph", "source", "file", "seed", "resolved", "doc", "name")
    assert all(getattr(made, name) == getattr(plan, name) for name in same)


@pytest.mark.parametrize(("set_", "code"), [
    ("gate.low=0.3", "RL210"), ("seed=2", "RL210"), ("optim.clip_grad=2", "RL210"),
    ("system=one_step_off on disaggregated(rollout: 1, train: 2)", "RL210"), ("cluster.tensr=2", "RL201"),
    ("cluster.where=2", "RL201"), ("cluster.tensor=0", "RL204"), ("cluster.tensor=many", "RL201"),
    ("cluster.reference=1", "RL208"),
    ("cluster.tensor", "RL101"), ("system=sync on nowhere", "RL201"), ("cluster.tensor=3", "RL40")])
def test_what_is_no_other_place_is_refused(plan, set_: str, code: str) -> None:
    with pytest.raises(RecipeError, match=code):
        relaid(plan, [set_])


def test_a_run_in_one_process_has_no_layout(plan, tmp_path: Path) -> None:
    (tmp_path / "r.rl").write_text(RECIPE.replace("nodes: 1, tensor: 2", "local")
                                   .replace("disaggregated(rollout: 1, train: 2)", "colocated"))
    with pytest.raises(RecipeError, match="RL208"):
        relaid(compile_recipe(resolve("r.rl"))[0], ["cluster.tensor=2"])


def test_a_plan_that_cannot_be_opened_is_not_kept(plan, tmp_path: Path, monkeypatch, capsys) -> None:
    from rldsl.cli.shared import session
    from rldsl.diagnostics import Diagnostic
    from rldsl.runtime.errors import RunError

    run, opened = tmp_path / "run", []
    run.mkdir()
    write_text(plan, run / PLAN)
    (run / PROJECT).write_text(str(tmp_path))

    def full(given, *_, **__):
        opened.append(read_plan(run / PLAN).recipe["settings"]["cluster"]["tensor"])
        raise RunError(Diagnostic("RL606", "no room"))

    monkeypatch.setattr(session, "train", full)
    assert main(["resume", str(run), "--set", "cluster.tensor=1"]) == 3 and "RL606" in capsys.readouterr().err
    assert opened == [1] and dataclasses.asdict(read_plan(run / PLAN))["recipe"] == plan.recipe
    assert main(["resume", str(run), "--set", "gate.low=0.3"]) == 1 and "another experiment" in capsys.readouterr().err


def test_a_pipeline_is_told_to_change_a_stage(plan, tmp_path: Path, capsys) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "pipeline.json").write_text("{}")
    (run / PROJECT).write_text(str(tmp_path))
    assert main(["resume", str(run), "--set", "cluster.tensor=1"]) == 3
    said = capsys.readouterr().err
    assert "RL609" in said and "STAGE --set" in said
