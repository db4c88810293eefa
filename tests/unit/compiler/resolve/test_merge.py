"""Inheritance, blocks, profiles, dotted paths and `--set`."""

import re

import pytest

from rldsl.compiler.resolve import profiles, resolve
from rldsl.diagnostics import RecipeError

from .project import found, recipe_text, typed, write


def child(body, parent=None, **axes):
    return (parent or recipe_text(**axes)) + f"\nrecipe child extends base {{\n{body}\n}}\n"


def test_a_child_replaces_axes_and_inherits_the_rest(tmp_path):
    recipe = typed(tmp_path, child("advantage = group_mean"), "child")
    assert recipe.advantage[0].name == "group_mean" and recipe.gate.name == "clip"


def test_a_dotted_path_changes_one_parameter(tmp_path):
    gate = typed(tmp_path, child("gate.high = 0.3\ngate.dual = 3"), "child").gate.choice
    assert (gate.low, gate.high, gate.dual) == (0.2, 0.3, 3.0)


def test_a_dotted_path_reaches_a_positional_argument(tmp_path):
    assert typed(tmp_path, child("gate.low = 0.1"), "child").gate.choice.low == 0.1


def test_a_dotted_path_finds_the_one_term_that_has_it(tmp_path):
    recipe = typed(tmp_path, child("gate.estimator = k2\ngate.clip.high = 0.3", gate="clip(0.2) + kl(0.1)"), "child")
    assert recipe.regularisers[0].choice.estimator == "k2" and recipe.gate.choice.high == 0.3


TWICE = 'verify(math) + format("a", reward: 0.1) + format("b", reward: 0.2)'


def test_terms_of_one_name_are_counted_from_one(tmp_path):
    from rldsl.compiler.recipe import feedback_nodes

    recipe = typed(tmp_path, child("feedback.format[2].reward = 0.5", feedback=TWICE), "child")
    assert [n.choice.reward for n in list(feedback_nodes(recipe.feedback))[1:]] == [0.1, 0.5]


@pytest.mark.parametrize(("body", "axes", "text"), [
    ("gate.hihg = 0.3", {}, "hihg"),
    ("gate.clip.hihg = 0.3", {}, "hihg"),
    ("gate.clip = 0.3", {}, "clip"),
    ("feedback.reward = 0.5", {"feedback": TWICE}, "reward"),
    ("feedback.format.reward = 0.5", {"feedback": TWICE}, "format"),
    ("feedback.format[3].reward = 0.5", {"feedback": TWICE}, "format[3"),
    ("model.polciy = \"x\"", {}, "polciy"),
    ("optim.lr = 1", {}, "lr"),
    ("gate.low.deep = 1", {}, "deep"),
    ("seed.x = 1", {}, "x"),
    ("gate[2].high = 0.3", {}, "gate[2"),
    ("data.prompts[2] = 4", {}, "prompts[2"),
    ("seed[2] = 4", {}, "seed[2"),
])
def test_a_path_the_parent_does_not_have(tmp_path, body, axes, text):
    (code, underlined), = found(tmp_path, child(body, **axes), "child")
    assert code == "RL207" and underlined.startswith(text)


@pytest.mark.parametrize(("body", "code", "text"), [
    ("gaet = clip", "RL201", "gaet"), ("gaet.high = 1", "RL201", "gaet"), ("modle { }", "RL201", "modle"),
    ("gate { }", "RL201", "gate"), ("model = 3", "RL203", "model"), ("data { batch_size: 8 }", "RL211", "batch_size"),
    ("data { responses: 8 }", "RL211", "responses"), ("optim { mini_batch_size: 8 }", "RL211", "mini_batch_size"),
    ("data.train_batch_size = 8", "RL211", "train_batch_size"), ("data { local }", "RL203", "local"),
    ("optim { prompts: 8 }", "RL201", "prompts"),
])
def test_names_that_do_not_exist(tmp_path, body, code, text):
    assert found(tmp_path, child(body), "child") == [(code, text)]


def test_a_change_inside_an_axis_leaves_its_unknown_choice_to_be_reported(tmp_path):
    assert found(tmp_path, child("gate.high = 0.3", gate="lip(0.2)"), "child") == [("RL201", "lip")]


def test_blocks_merge_by_key(tmp_path):
    text = child("data { prompts: 8 }", recipe_text(body='data { train: "x", prompts: 4 }'))
    data = typed(tmp_path, text, "child").settings.data
    assert (data.train, data.prompts) == ("x", 8)


def test_a_bare_entry_replaces_its_family(tmp_path):
    parent = recipe_text(body='cluster { nodes: 2, gpu: "H800" }\noptim { adamw(lr: 1e-6), epochs: 2 }')
    settings = typed(tmp_path, child("cluster { local }\noptim { sgd(lr: 0.1) }", parent), "child").settings
    assert (settings.cluster.where, settings.cluster.nodes, settings.cluster.gpu) == ("local", None, None)
    assert (settings.optim.optimizer.name, settings.optim.epochs) == ("sgd", 2)


def test_a_key_of_the_family_drops_the_bare_entry(tmp_path):
    cluster = typed(tmp_path, child("cluster { nodes: 3 }", recipe_text(body="cluster { local }")), "child") \
        .settings.cluster
    assert (cluster.where, cluster.nodes) == (None, 3)


@pytest.mark.parametrize("body", ["cluster { local, nodes: 2 }", "optim { adamw(lr: 1), sgd(lr: 1) }",
                                  "cluster { local }\ncluster.nodes = 2"])
def test_two_entries_of_a_family_state_one_fact(tmp_path, body):
    assert [code for code, _ in found(tmp_path, recipe_text(body=body))] == ["RL210"]


def test_a_cluster_says_its_nodes(tmp_path):
    assert [code for code, _ in found(tmp_path, recipe_text(body="cluster { tensor: 2 }"))] == ["RL202"]


def test_evaluations_are_a_family(tmp_path):
    parent = recipe_text(body='evaluate { "toy:addition", gsm8k(samples: 4), every: 5 }')
    evaluate = typed(tmp_path, parent).settings.evaluate
    assert [(t.name, t.samples) for t in evaluate.tasks] == [("toy:addition", None), ("gsm8k", 4)]
    evaluate = typed(tmp_path, child('evaluate { "toy:reverse" }', parent), "child").settings.evaluate
    assert [t.name for t in evaluate.tasks] == ["toy:reverse"] and evaluate.every == 5
    assert typed(tmp_path, child("evaluate { none }", parent), "child").settings.evaluate.tasks == ()
    evaluate = typed(tmp_path, child("evaluate.gsm8k.samples = 9", parent), "child").settings.evaluate
    assert evaluate.tasks[1].samples == 9


def test_one_task_is_evaluated_once(tmp_path):
    assert found(tmp_path, recipe_text(body="evaluate { gsm8k, gsm8k(samples: 4) }")) \
        == [("RL110", "gsm8k(samples: 4)")]


def test_feedback_is_an_axis_and_a_block(tmp_path):
    recipe = typed(tmp_path, child("feedback.timeout = 10s\nfeedback.how = exact"), "child")
    assert recipe.settings.feedback.timeout == 10 and recipe.feedback.choice.how == "exact"


@pytest.mark.parametrize("body", [
    "data { prompts: 4 }\ndata.prompts = 5", "gate = clip(0.2, high: 0.3)\ngate.high = 0.4",
    "gate.high = 0.4\ngate = clip(0.2)",
])
def test_one_body_says_a_thing_once(tmp_path, body):
    assert [code for code, _ in found(tmp_path, child(body), "child")] == ["RL110"]


PROFILES = recipe_text(body='data { prompts: 512 }\nprofile toy {\n  data.prompts = 4\n  gate.high = 0.5\n}') \
    + "recipe child extends base {\n  gate.high = 0.3\n  profile toy { data.train = \"toy:addition\" }\n" \
      "  profile big { data.prompts = 1024 }\n}\n"


def test_profiles_come_last_and_are_inherited(tmp_path):
    recipe = typed(tmp_path, PROFILES, "child", profile="toy")
    assert (recipe.settings.data.prompts, recipe.settings.data.train, recipe.gate.choice.high) \
        == (4, "toy:addition", 0.5)
    assert typed(tmp_path, PROFILES, "child").gate.choice.high == 0.3


def test_set_comes_after_profiles(tmp_path):
    recipe = typed(tmp_path, PROFILES, "child", profile="toy", sets=["gate.high=0.7", "data.prompts=1k * 2"])
    assert (recipe.gate.choice.high, recipe.settings.data.prompts) == (0.7, 2000)


def test_profiles_have_names(tmp_path):
    path = write(tmp_path, main=PROFILES)
    assert profiles(str(path), "child") == ("toy", "big")
    assert found(tmp_path, PROFILES, "child", profile="ty") == [("RL201", "child")]


def test_profiles_that_are_not_asked_for_are_checked_too(tmp_path):
    assert found(tmp_path, recipe_text(body="profile p { gate.nope = 1 }")) == [("RL207", "nope")]


@pytest.mark.parametrize(("setting", "read", "value"), [
    ("seed=7", lambda r: r.seed, 7),
    ("gate=cispo(high: 0.3)", lambda r: r.gate.name, "cispo"),
    ("cluster=local", lambda r: r.settings.cluster.where, "local"),
    ("optim=adamw(lr: 1e-5)", lambda r: r.settings.optim.optimizer.lr, 1e-5),
    ('model.policy="toy:x"', lambda r: r.settings.model.policy, "toy:x"),
    ("ratio.pair=current / rollout", lambda r: r.ratio.choice.pair.denominator, "rollout"),
    ("optim.clip_grad=none", lambda r: r.settings.optim.clip_grad, None),
])
def test_set_uses_the_language(tmp_path, setting, read, value):
    assert read(typed(tmp_path, recipe_text(), sets=[setting])) == value


def test_set_may_use_the_constants_of_the_file(tmp_path):
    assert typed(tmp_path, "let wide = 0.4\n" + recipe_text(), sets=["gate.high=wide"]).gate.choice.high == 0.4


@pytest.mark.parametrize(("sets", "code", "text"), [
    (["gate.high"], "RL101", "gate.high"), (["gate.hihg=1"], "RL207", "hihg"),
    (["seed=1", "gate.high=-1"], "RL204", "-1"),
    (["gate.high=)"], "RL101", ")"), (["ga te=1"], "RL101", "te"), (["gate=klip"], "RL201", "klip"),
])
def test_errors_in_set_are_underlined_in_it(tmp_path, sets, code, text):
    assert found(tmp_path, recipe_text(), "base", sets=sets) == [(code, text)]


def test_inheritance_needs_a_parent(tmp_path):
    assert found(tmp_path, recipe_text() + "recipe x extends bsae { gate = none }\n", "x") == [("RL201", "bsae")]
    assert found(tmp_path, "recipe x extends grpo { gate = none }\n") == [("RL201", "grpo")]


def test_a_circle_of_parents_is_shown_once(tmp_path):
    text = "recipe a extends b { gate = none }\nrecipe b extends a { gate = none }\n"
    assert [code for code, _ in found(tmp_path, text)] == ["RL206"]


def test_missing_axes_list_their_choices(tmp_path):
    from .project import errors

    problem, = errors(write(tmp_path, main=recipe_text(gate="") + "recipe x extends base { advantage = rloo }\n"))
    assert problem.code == "RL202" and "clip" in problem.fix and "cispo" in problem.fix


@pytest.mark.parametrize("axis, begins, never", [
    ("feedback", "verify", "overlong"), ("sampling", "group", "keep"), ("advantage", "group_norm", "whiten"),
    ("gate", "clip", "entropy"), ("reduction", "token_mean", "none"), ("distribution", "on_policy", "none"),
    ("system", "SCHEDULE on PLACEMENT, with one of one_step_off", "none")])
def test_a_missing_axis_lists_only_what_may_begin_it(tmp_path, axis, begins, never):
    from .project import errors

    problem, = errors(write(tmp_path, main=recipe_text(**{axis: ""})))
    listed = re.findall(r"\w+", problem.fix)
    assert problem.code == "RL202" and begins in problem.fix and never not in listed


REPLACED = recipe_text(body="profile toy {\n  gate.high = 0.5\n  data.prompts = 4\n}") + '''
recipe child extends base {
  gate = cispo(1.0, high: 2.0)
  profile toy { gate = none }
}
recipe other extends base { gate = none }
'''


def test_a_profile_that_replaces_an_axis_drops_inherited_changes_of_its_parameters(tmp_path):
    recipe = typed(tmp_path, REPLACED, "child", profile="toy")
    assert recipe.gate.name == "none" and recipe.settings.data.prompts == 4
    assert typed(tmp_path, REPLACED, "base", profile="toy").gate.choice.high == 0.5
    assert found(tmp_path, REPLACED, "other", profile="toy") == [("RL207", "high")]
    assert typed(tmp_path, REPLACED, "other", profile="toy", sets=["gate=clip(0.2)"]).gate.choice.high == 0.2


def test_which_recipe_is_said(tmp_path):
    two = recipe_text("a") + recipe_text("b")
    path = str(write(tmp_path, main=two))
    assert resolve(path, "b").name == "b"
    from rldsl.diagnostics import RecipeError
    for name, code in ((None, "RL202"), ("c", "RL201")):
        with pytest.raises(RecipeError) as caught:
            resolve(path, name)
        assert [d.code for d in caught.value.diagnostics] == [code]


def test_a_reference_takes_another_parameter(tmp_path):
    recipe = typed(tmp_path, recipe_text(
        feedback="verify(math) + overlong(max: sampling.max_tokens, buffer: sampling.max_tokens / 8)",
        reduction="fixed_budget(length: sampling.group.max_tokens)"))
    assert recipe.reduction.choice.length == 512
    assert [n.choice.buffer for n in recipe.feedback.parts[1:]] == [64]


@pytest.mark.parametrize(("value", "code"), [("sampling.max_tokns", "RL201"), ("nowhere.x", "RL201"),
                                             ("sampling.max_tokens", "RL206"), ("sampling.stop", "RL203")])
def test_references_that_lead_nowhere(tmp_path, value, code):
    assert found(tmp_path, recipe_text(sampling=f"group(4, max_tokens: {value})")) == [(code, value)]


def test_sweeps_and_pipelines_name_recipes_that_exist(tmp_path):
    text = recipe_text() + "sweep s of bsae { gate.high in [0.2] }\n" \
        "ablate a from base to nope\npipeline p {\n  stage x = base\n  stage y = bose from x\n}\n"
    assert found(tmp_path, text) == [("RL201", "bsae"), ("RL201", "nope"), ("RL201", "bose")]


def test_an_override_that_names_nothing_near_gets_a_remedy_too(tmp_path):
    file = tmp_path / "far.rl"
    file.write_text("import std.quickstart\nrecipe far extends quickstart { gate = none }\n"
                    "recipe farther extends far { gate.coef = 1 }\n", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        resolve(str(file), "farther")
    (d,) = caught.value.diagnostics
    assert d.code == "RL207" and d.fix
