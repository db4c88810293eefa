"""The plan of a pipeline: its file, its fingerprints, its explanation, and the difference between two."""

import json

import pytest

from rldsl.compiler import diff_pipeline, explain_pipeline
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.pipeline import compile_pipeline, pipeline_path, read_pipeline, write_pipeline
from rldsl.compiler.resolve import resolve_runnable
from rldsl.diagnostics import RecipeError

from .resolve.project import recipe_text, write

BODY = 'model { policy: "toy:llama-1x16" }\ndata { train: "toy:copy", prompts: 8 }\n' \
       'optim { adamw(lr: 1e-3), updates_per_batch: 2 }\nbudget { steps: 2 }'
STAGES = "stage a = base\nstage b = base { gate.high = 0.3 } from a\nstage c = base from b"


def resolved(tmp_path, stages=STAGES, body=BODY, **options):
    base = recipe_text(body=body, sampling="group(8, max_tokens: 64)")
    path = write(tmp_path, main=f"{base}pipeline p {{\n{stages}\n}}\n")
    return resolve_runnable(str(path), "p", **options)


def experiments(tmp_path, *args, **options):
    return [s.plan.fingerprints["experiment"] for s in compile_pipeline(resolved(tmp_path, *args, **options))[0].stages]


def test_the_file_gives_the_same_plan_again(tmp_path):
    plan, _ = compile_pipeline(resolved(tmp_path), sets=["seed=1"])
    path = write_pipeline(plan, pipeline_path(plan, tmp_path))
    assert read_pipeline(path) == plan and path.parent == tmp_path / ".rldsl" / "pipelines"
    assert [s.takes for s in plan.stages] == [(), ("from a",), ("from b",)]


@pytest.mark.parametrize("text", ["[]", "{", '{"version": 2}', '{"version": 1, "stages": [{}]}', '{"version": 1}'])
def test_a_damaged_file_is_told(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(RecipeError) as error:
        read_pipeline(tmp_path / "p.json")
    assert [d.code for d in error.value.diagnostics] == ["RL407"]


def test_a_stage_is_another_experiment_where_one_before_it_is(tmp_path):
    a, b, c = experiments(tmp_path)
    changed = experiments(tmp_path, STAGES.replace("0.3", "0.4"))
    assert changed[0] == a and changed[1] != b and changed[2] != c
    assert len({a, b, c}) == 3


def test_names_and_order_of_stages_are_in_no_fingerprint(tmp_path):
    renamed = "stage z = base from y\nstage x = base\nstage y = base { gate.high = 0.3 } from x"
    assert experiments(tmp_path, renamed) == experiments(tmp_path)


def test_a_first_stage_is_the_experiment_of_its_recipe_alone(tmp_path):
    first = experiments(tmp_path)[0]
    alone, _ = compile_recipe(resolve_runnable(str(tmp_path / "main.rl"), "base"))
    assert first == alone.fingerprints["experiment"]


def test_every_stage_is_checked(tmp_path):
    stages = "stage a = base { advantage = gae, sampling = single(max_tokens: 4) }\n" \
             "stage b = base { sampling = single(max_tokens: 4) } from a"
    with pytest.raises(RecipeError) as error:
        compile_pipeline(resolved(tmp_path, stages))
    assert "RL301" in {d.code for d in error.value.diagnostics}


def test_what_training_lacks_is_told_for_each_stage(tmp_path):
    with pytest.raises(RecipeError) as error:
        compile_pipeline(resolved(tmp_path, "stage a = base\nstage b = base from a",
                                  body=BODY.replace("\nbudget { steps: 2 }", "")), run=True)
    lacking = [(d.code, d.labels[0].span.line) for d in error.value.diagnostics if d.severity == "error"]
    assert lacking == [("RL202", 15), ("RL202", 16)]


def test_the_explanation_says_what_a_stage_takes_and_leaves(tmp_path):
    stages = STAGES + "\nstage d = base { data { collect: 1 }, optim { frozen } } from c\n" \
        "stage e = base(reference: a) { gate = clip(0.2) + kl(0.1), advantage = gae } from c"
    p = resolved(tmp_path, stages)
    text = explain_pipeline.to_text(p)
    rows = [line.split() for line in text.splitlines()[3:9]]
    assert rows[1][1:4] == ["a", "base", "toy:llama-1x16"] and "from b" in text and "a policy, a critic" in text
    assert "as stage c left it" in text and "the policy stays as it is" in text and "reference: a" in text
    data = json.loads(json.dumps(explain_pipeline.to_json(p)))
    assert data["stages"][3]["leaves"] == ["a data set"] and data["stages"][1]["takes"] == [
        {"what": "from", "stage": "a"}]
    page = explain_pipeline.to_html(p)
    assert page.startswith("<!doctype html>") and page.count("<h2>Objective</h2>") == 5


def test_the_difference_of_two_pipelines(tmp_path):
    old = resolved(tmp_path)
    new = resolved(tmp_path, "stage a = base\nstage b = base { gate.high = 0.4 } from a\nstage d = base from a")
    d = diff_pipeline.compare_pipelines(old, new)
    assert (d.gone, d.new, d.order, dict(d.taken)) == (("c",), ("d",), False, {})
    assert list(d.stages) == ["b"] and "`high` of clip goes from 0.3 to 0.4" in diff_pipeline.to_text(d)
    moved = resolved(tmp_path, "stage a = base\nstage b = base { gate.high = 0.3 } from a\nstage c = base from a")
    d = diff_pipeline.compare_pipelines(old, moved)
    assert d.taken == {"c": ("from b", "from a")} and "took from b and takes from a" in diff_pipeline.to_text(d)
    assert diff_pipeline.to_text(diff_pipeline.compare_pipelines(old, old)) == "The pipelines train the same."
    assert json.dumps(diff_pipeline.to_json(d))
