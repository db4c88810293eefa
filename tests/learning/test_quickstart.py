"""The quickstart learns what it is rewarded for, and from no problem that it is judged on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.compiler.resolve import resolve
from rldsl.compiler.resolve.load import library_root
from rldsl.environments.tasks import load_task
from rldsl.runtime.journal import read_journal

from .training import Trained, train

QUICKSTART = library_root() / "quickstart.rl"
CHILD = """import std.quickstart
recipe short extends quickstart {{
  data     {{ train: "{data}" }}
  model    {{ dtype: float32 }}
  budget   {{ steps: 50 }}
  evaluate {{ every: 1000, samples: 2, problems: 100 }}
  track    {{ mlflow: none }}
}}
"""
TASK = "toy:reverse"
STANDARD_ERROR = (2 * 0.25 / 200) ** 0.5
"""Of the difference between two scores over 200 answers, at most."""


@pytest.fixture(scope="module")
def splits() -> dict[str, list]:
    recipe = resolve(str(QUICKSTART))
    data, held_out = recipe.settings.data.train, [t.name for t in recipe.settings.evaluate.tasks]
    assert held_out == [data] == [TASK]
    return {s: list(load_task(TASK, s, seed=recipe.seed)) for s in ("train", "warm_start", "held_out")}


def test_training_warm_start_and_held_out_problems_are_disjoint(splits) -> None:
    prompts = {name: {p.prompt for p in problems} for name, problems in splits.items()}
    assert [len(s) for s in prompts.values()] == [len(p) for p in splits.values()]
    assert len(set.union(*prompts.values())) == sum(map(len, prompts.values()))
    assert set(prompts["held_out"]) == {p.prompt for p in load_task(TASK, "held_out", seed=99)}


def test_no_other_seed_trains_on_what_is_held_out(splits) -> None:
    others = {p.prompt for p in load_task(TASK, "train", seed=7)}
    assert not others & {p.prompt for name in ("warm_start", "held_out") for p in splits[name]}


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> tuple[Path, Trained]:
    folder = tmp_path_factory.mktemp("honest")
    return folder, train(folder, CHILD.format(data=TASK))


def test_reinforcement_improves_what_the_warm_start_left(honest) -> None:
    first, last = honest[1].held_out
    assert first < 0.3 and last > first + 3 * STANDARD_ERROR, honest[1].held_out


def test_what_was_drawn_is_in_the_training_split(honest, splits) -> None:
    drawn = {row for e in read_journal(honest[0]) if e.kind == "step" for _, row, _ in e.data["prompts"]}
    prompts = {splits["train"][row].prompt for row in drawn}
    assert len(drawn) == len(prompts) == 50 * 32
    assert not prompts & {p.prompt for name in ("warm_start", "held_out") for p in splits[name]}


def test_the_answers_of_other_problems_teach_nothing(splits, tmp_path) -> None:
    """The same run, rewarded for another problem's answer: what improves above is the reward's doing."""
    def row(problem, answer: str) -> str:
        return json.dumps({"prompt": problem.prompt, "answer": answer}) + "\n"

    data = tmp_path / "shuffled"
    data.mkdir()
    train_set = splits["train"]
    others = [*train_set[1:], train_set[0]]
    (data / "train.jsonl").write_text("".join(row(p, q.answer) for p, q in zip(train_set, others, strict=True)))
    (data / "warm_start.jsonl").write_text("".join(row(p, p.answer) for p in splits["warm_start"]))
    found = train(tmp_path, CHILD.format(data="shuffled"))
    first, last = found.held_out
    assert last < first + 2 * STANDARD_ERROR, found.held_out
    assert max(s["reward/mean"] for s in found.steps) < 0.05
