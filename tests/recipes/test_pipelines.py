"""The shipped pipelines: what the papers say of their stages, and that every stage runs as it stands, cut short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.compiler.pipeline import compile_pipeline
from rldsl.compiler.resolve import resolve_runnable

RECIPES = Path(__file__).parents[2] / "recipes"
NAMES = ("deepseek_r1", "sparse_to_dense", "glm5")
SHORT = {
    "deepseek_r1": ["budget.steps=1", "cold_start.budget.steps=65", "reasoning.optim.lr=1e-6"],
    "sparse_to_dense": ["budget.steps=1", "teacher.model.warm_start=2", "student.model.warm_start=2"],
    "glm5": ["budget.steps=1", "reasoning.model.warm_start=2"],
}


def resolved(name: str, **options):
    return resolve_runnable(str(RECIPES / name / f"{name}.rl"), name, **options)


def test_r1_fine_tunes_the_base_model_on_what_rl_found() -> None:
    stages = {s.name: s for s in resolved("deepseek_r1").stages}
    assert list(stages) == ["cold_start", "reasoning", "harvest", "tune", "all"]
    tune = stages["tune"].recipe.settings
    assert tune.model.start is None and tune.model.policy == stages["cold_start"].recipe.settings.model.policy
    assert tune.data.train == "stage:harvest"
    reasoning = stages["reasoning"].recipe
    sampler, optim = reasoning.sampling[0].choice, reasoning.settings.optim
    assert (sampler.n, sampler.max_tokens, optim.optimizer.lr, reasoning.regularisers[0].choice.coef) == (
        16, 32768, 3e-6, 0.001)
    assert reasoning.settings.data.prompts * sampler.n == 8192 == optim.updates_per_batch * 512


def test_sparse_to_dense_teaches_a_smaller_model() -> None:
    teacher, student, refine = resolved("sparse_to_dense", profile="toy").stages
    assert student.recipe.settings.model.teachers == ("stage:teacher",)
    assert student.recipe.settings.model.teacher_warm_start == 0 and student.recipe.settings.model.start is None
    assert teacher.recipe.settings.model.policy != student.recipe.settings.model.policy
    assert refine.recipe.settings.model.start == "stage:student"


def test_glm5_s_last_stage_learns_from_earlier_ones() -> None:
    last = resolved("glm5").stages[-1].recipe
    assert last.settings.model.teachers == ("stage:reasoning", "stage:general")
    assert last.settings.model.start == "stage:general"


@pytest.mark.parametrize("name", NAMES)
def test_it_compiles_at_its_published_size_and_as_a_toy(name: str) -> None:
    for profile in (None, "toy"):
        plan, _ = compile_pipeline(resolved(name, profile=profile), profile=profile, run=profile == "toy")
        assert len({s.plan.fingerprints["experiment"] for s in plan.stages}) == len(plan.stages)


@pytest.mark.parametrize("name", NAMES)
def test_every_stage_runs(name: str, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "rldsl.toml").touch()
    monkeypatch.chdir(tmp_path)
    sets = [*SHORT[name], "track.mlflow=none", "evaluate=none"]
    argv = [part for text in sets for part in ("--set", text)]
    file = str(RECIPES / name / f"{name}.rl")
    assert main(["run", file, "--profile", "toy", "--out", "here", "--format", "json", *argv]) == 0
    stages = json.loads(capsys.readouterr().out)["pipeline"]["stages"]
    assert {s["status"] for s in stages} == {"FINISHED"} and len(stages) == len(resolved(name).stages)
