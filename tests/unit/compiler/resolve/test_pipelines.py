"""Pipelines: what a stage is made of, in which order stages run, and where `--set` goes."""

import pytest

from rldsl.compiler.resolve import resolve_all, resolve_runnable
from rldsl.diagnostics import RecipeError

from .project import found, recipe_text, write

TRAINED = 'model { policy: "toy:llama-1x16", warm_start: 5 }\ndata { train: "toy:copy", prompts: 8 }\n' \
          'optim { adamw(lr: 1e-3), updates_per_batch: 2 }\nbudget { steps: 2 }'
TOY = "\nprofile toy {\n budget { steps: 7 }\n model { warm_start: 9 }\n}"


def piped(tmp_path, stages, name="p", **options):
    """The pipeline with these stages over the recipe `base`."""
    path = write(tmp_path, main=recipe_text(body=TRAINED + TOY) + f"pipeline p {{\n{stages}\n}}\n")
    return resolve_runnable(str(path), name, **options)


def test_stages_run_after_what_they_take(tmp_path):
    p = piped(tmp_path, "stage c = base from b\nstage a = base\nstage b = base from a\nstage d = base")
    assert [s.name for s in p.stages] == ["a", "b", "c", "d"]
    assert [[(x.argument, x.source) for x in s.links] for s in p.stages] == [[], [(None, "a")], [(None, "b")], []]


def test_a_stage_that_starts_from_another_needs_no_warm_start_and_no_policy(tmp_path):
    text = recipe_text(body=TRAINED) + recipe_text("bare", "data { prompts: 8 }\noptim { updates_per_batch: 2 }")
    path = write(tmp_path, main=text + "pipeline p {\nstage a = base\nstage b = bare from a\n}\n")
    a, b = resolve_runnable(str(path), "p").stages
    assert (a.recipe.settings.model.warm_start, a.recipe.settings.model.start) == (5, None)
    model = b.recipe.settings.model
    assert (model.warm_start, model.start, model.policy) == (0, "stage:a", "toy:llama-1x16")
    assert b.recipe.origins["model.policy"][-1].how == "pipeline"


def test_a_stage_s_body_is_laid_before_the_profile_and_what_it_takes_after_it(tmp_path):
    stages = "stage a = base { budget { steps: 3 }, gate.high = 0.3 }\nstage b = base from a"
    a, b = piped(tmp_path, stages).stages
    assert (a.recipe.settings.budget.steps, a.recipe.gate.choice.high) == (3, 0.3)
    a, b = piped(tmp_path, stages, profile="toy").stages
    assert (a.recipe.settings.budget.steps, a.recipe.gate.choice.high) == (7, 0.3)
    assert (a.recipe.settings.model.warm_start, b.recipe.settings.model.warm_start) == (9, 0)


def test_set_changes_every_stage_or_the_one_it_names(tmp_path):
    sets = ["budget.steps=4", "b.budget.steps=5", "b.gate.high=0.4", "seed=3"]
    a, b = piped(tmp_path, "stage a = base\nstage b = base from a", sets=sets).stages
    assert [s.recipe.settings.budget.steps for s in (a, b)] == [4, 5]
    assert [s.recipe.gate.choice.high for s in (a, b)] == [0.2, 0.4] and {a.recipe.seed, b.recipe.seed} == {3}


def test_a_wrong_set_of_one_stage_is_shown_in_its_place(tmp_path):
    with pytest.raises(RecipeError) as error:
        piped(tmp_path, "stage a = base\nstage b = base from a", sets=["budget.steps=4", "b.gate.hihg=0.4"])
    (d,) = error.value.diagnostics
    assert d.code == "RL207" and d.labels[0].span.file == "--set" and d.labels[0].span.line == 2


def test_the_columns_of_collected_data_come_with_it(tmp_path):
    stages = 'stage a = base { data { collect: 2, template: "Q: {{ question }}" } }\nstage b = base(data: a) from a'
    b = piped(tmp_path, stages).stages[1]
    assert b.recipe.settings.data.train == "stage:a" and b.recipe.settings.data.template == "Q: {{ question }}"


def test_one_stage_of_a_pipeline(tmp_path):
    stages = "stage a = base { gate.high = 0.5 }\nstage b = base from a"
    assert piped(tmp_path, stages, name="p.a").gate.choice.high == 0.5
    for name, says in (("p.c", "no stage `c`"), ("base.a", "no stage `a`")):
        with pytest.raises(RecipeError, match=says):
            piped(tmp_path, stages, name=name)


def test_what_can_be_run_without_a_name(tmp_path):
    text, pipeline = recipe_text(body=TRAINED), "pipeline p {\nstage a = base\n}\n"
    other = write(tmp_path, other='import "main.rl"\n' + pipeline, main=text)
    assert resolve_runnable(str(other)).name == "p"
    both = write(tmp_path, both=text + pipeline)
    with pytest.raises(RecipeError, match="2 recipes and pipelines"):
        resolve_runnable(str(both))
    assert resolve_runnable(str(both), "base").name == "base"
    assert [r.name for r in resolve_all(str(both))] == ["base", "base"]


def test_stages_are_tracked_together(tmp_path):
    tracked = recipe_text(body=TRAINED) + recipe_text("other", TRAINED + "\ntrack { mlflow: none }")
    assert found(tmp_path, tracked + "pipeline p {\nstage a = base\nstage b = other from a\n}\n") == [("RL329", "none")]


def test_a_stage_whose_recipe_is_wrong_says_so_once(tmp_path):
    text = recipe_text(body=TRAINED) + recipe_text("bad", TRAINED, gate="klip(0.2)")
    stages = "pipeline p {\nstage a = bad\nstage b = base from a\nstage c = bad from b\n}\n"
    assert found(tmp_path, text + stages) == [("RL201", "klip")]
