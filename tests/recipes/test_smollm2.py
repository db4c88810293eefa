"""The recipe for SmolLM2: it compiles where the model is not installed, and what it is judged on is never trained."""

from __future__ import annotations

import shutil
from pathlib import Path

from rldsl.cli.main import main
from rldsl.compiler.plan import read_plan
from rldsl.environments.tasks import load_task
from rldsl.environments.verifiers import numeric

RECIPE = Path(__file__).parents[2] / "recipes" / "smollm2_arithmetic.rl"


def test_it_compiles_without_a_warning_and_without_its_model(tmp_path, monkeypatch, capsys):
    shutil.copy(RECIPE, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["compile", RECIPE.name]) == 0
    assert "warning" not in capsys.readouterr().err
    plan = read_plan(next((tmp_path / ".rldsl" / "plans").glob("*.json")))
    assert plan.name == RECIPE.stem
    assert plan.graph.of("sample")[0].options["siblings"] > 1
    assert [task["name"] for task in plan.graph.of("evaluate")[0].options["tasks"]] == ["toy:sum_words"]


def test_no_held_out_problem_is_trained():
    for seed in range(3):
        train = load_task("toy:sum_words", "train", seed=seed)
        held_out = load_task("toy:sum_words", "held_out", seed=seed)
        assert (len(train), len(held_out)) == (60, 20)
        assert not {p.prompt for p in train} & {p.prompt for p in held_out}


def test_how_the_answers_of_a_chat_model_score():
    said = {"12.": 1.0, "The sum of 5 and 7 is 12.": 1.0, "5 + 7 = 12": 1.0, "12 is 5 + 7": 0.0, "twelve": 0.0}
    assert {text: numeric(text, "12", {}, extract="last_number") for text in said} == said
