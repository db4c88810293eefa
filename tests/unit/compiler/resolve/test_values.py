"""Typing: every value judged by its parameter's annotation, every wrong one underlined."""

import pytest

from rldsl.axes.types import Band, Policies
from rldsl.compiler.recipe import Product, Scaled, Sum, feedback_nodes
from rldsl.diagnostics import RecipeError

from .project import errors, found, recipe_text, typed, write


def test_defaults_and_positions(tmp_path):
    gate = typed(tmp_path, recipe_text(gate="clip(0.1, dual: 3)")).gate
    assert (gate.choice.low, gate.choice.high, gate.choice.dual) == (0.1, 0.1, 3.0)
    assert set(gate.spans) == {"low", "dual"}


def test_types(tmp_path):
    recipe = typed(tmp_path, recipe_text(
        feedback='verify(regex, pattern: "a+", extract: last_number)', ratio="sequence(current / rollout)",
        sampling='group(8, max_tokens: 1k, top_k: none, top_p: 90%, stop: ["a", "b"])', distribution="icepop(0.5..4)"))
    sampling = recipe.sampling[0].choice
    assert recipe.ratio.choice.pair == Policies("current", "rollout")
    assert recipe.distribution[0].choice.band == Band(0.5, 4.0)
    assert (sampling.max_tokens, sampling.top_k, sampling.top_p, sampling.stop) == (1000, None, 0.9, ("a", "b"))
    assert recipe.feedback.choice.extract == "last_number"
    text = typed(tmp_path, recipe_text(feedback='verify(exact, extract: "a(.)")')).feedback.choice
    assert text.extract == "a(.)"


def test_none_is_also_a_choice(tmp_path):
    recipe = typed(tmp_path, recipe_text(gate="none", ratio="none"))
    assert (recipe.gate.name, recipe.ratio.name) == ("none", "none")


@pytest.mark.parametrize("layers", ["0..5", "-1..0.5"])
def test_a_range_out_of_bounds_says_what_its_ends_may_be(tmp_path, layers):
    path = write(tmp_path, main=recipe_text(body=f"optim.layers = {layers}"))
    assert [d.fix for d in errors(path)] == ["Write a fraction (at least 0 and at most 1)."]


def test_reserved_words_are_parameters(tmp_path):
    recipe = typed(tmp_path, recipe_text(advantage="gae(lambda: 0.9)"))
    assert recipe.advantage[0].choice.lambda_ == 0.9
    assert [o.value for o in recipe.origins["advantage.lambda"]] == ["0.95", "0.9"]


def test_the_system_is_a_schedule_on_a_placement(tmp_path):
    recipe = typed(tmp_path, recipe_text(system="one_step_off on disaggregated(rollout: 2, train: 1)"))
    assert (recipe.schedule.name, recipe.placement.choice.rollout) == ("one_step_off", 2)


def test_reward_algebra(tmp_path):
    tree = typed(tmp_path, recipe_text(
        feedback='2 * (verify(exact) + 0.5 * format("a", reward: 1)) + verify(math) * verify(json) * 3')).feedback
    assert isinstance(tree, Sum) and isinstance(tree.parts[0], Scaled) and isinstance(tree.parts[0].part, Sum)
    assert tree.parts[1].factor == 3.0 and isinstance(tree.parts[1].part, Product)
    assert [n.name for n in feedback_nodes(tree)] == ["verify", "format", "verify", "verify"]


def test_sums_and_pipes(tmp_path):
    recipe = typed(tmp_path, recipe_text(gate="kl(0.1) + clip(0.2) + entropy(0.01)", distribution="tis + max_lag(2)",
                                         sampling="group(8, max_tokens: 9) | keep(mixed)"))
    assert recipe.gate.name == "clip" and [n.name for n in recipe.regularisers] == ["kl", "entropy"]
    assert [n.name for n in recipe.distribution] == ["tis", "max_lag"]
    assert [n.name for n in recipe.sampling] == ["group", "keep"]


WRONG = [
    ({"gate": "klip"}, "RL201", "klip"),
    ({"gate": "klip(0.2)"}, "RL201", "klip"),
    ({"reduction": "gae"}, "RL201", "gae"),
    ({"sampling": "group(8, max_tokens: hroizon + 1)"}, "RL201", "hroizon"),
    ({"sampling": "group(8, max_tokens: hroizon)"}, "RL201", "hroizon"),
    ({"gate": "3"}, "RL203", "3"),
    ({"gate": "clip + cispo"}, "RL203", "cispo"),
    ({"gate": "kl(0.1)"}, "RL203", "kl(0.1)"),
    ({"ratio": "token(current / ref)"}, "RL203", "ref"),
    ({"ratio": "token(old / current)"}, "RL203", "old"),
    ({"ratio": "token(current)"}, "RL203", "current"),
    ({"advantage": "group_norm(std: popluation)"}, "RL203", "popluation"),
    ({"advantage": 'group_norm(std: "population")'}, "RL203", '"population"'),
    ({"advantage": "group_norm(eps: 1s)"}, "RL203", "1s"),
    ({"advantage": "group_norm(eps: 5%)"}, "RL203", "5%"),
    ({"advantage": "group_norm(eps: true)"}, "RL203", "true"),
    ({"sampling": "group(8.5, max_tokens: 9)"}, "RL203", "8.5"),
    ({"sampling": "keep(mixed)"}, "RL203", "keep(mixed)"),
    ({"sampling": "group(8, max_tokens: 9) | group(8, max_tokens: 9)"}, "RL203", "group(8, max_tokens: 9)"),
    ({"sampling": "group(8, max_tokens: 9, stop: \"a\")"}, "RL203", '"a"'),
    ({"sampling": "group(8, max_tokens: 9, stop: [1])"}, "RL203", "1"),
    ({"system": "sync"}, "RL203", "sync"),
    ({"system": "colocated on sync"}, "RL203", "colocated"),
    ({"distribution": "icepop(0.5)"}, "RL203", "0.5"),
    ({"distribution": "icepop(0.5..none)"}, "RL203", "none"),
    ({"distribution": "icepop(pow2 1..4)"}, "RL203", "pow2 1..4"),
    ({"feedback": "0.5 * drop_truncated + verify(math)"}, "RL203", "drop_truncated"),
    ({"feedback": "verify(math) - overlong"}, "RL203", "verify(math) - overlong"),
    ({"feedback": "overlong"}, "RL203", "overlong"),
    ({"feedback": "verify(math) | overlong"}, "RL203", "verify(math) | overlong"),
    ({"feedback": "2s * verify(math)"}, "RL203", "2s"),
    ({"distribution": "icepop(5..0.5)"}, "RL204", "5..0.5"),
    ({"distribution": "icepop(-1..2)"}, "RL204", "-1"),
    ({"gate": "clip(-0.2)"}, "RL204", "-0.2"),
    ({"gate": "clip(high: 1e400)"}, "RL204", "1e400"),
    ({"feedback": "1e200 * verify(math) * 1e200"}, "RL204", "1e200"),
    ({"sampling": f"group(1{'0' * 400}, max_tokens: 9)"}, "RL204", f"1{'0' * 400}"),
    ({"advantage": "gae(lambda: 1.5)"}, "RL204", "1.5"),
    ({"feedback": "verify(math) + overlong(max: 10, buffer: 20)"}, "RL204", "20"),
    ({"gate": "clip(0.2, 0.3)"}, "RL205", "0.3"),
    ({"gate": "clip(high: 0.3, 0.2)"}, "RL205", "0.2"),
    ({"gate": "clip(0.2, low: 0.3)"}, "RL205", "low: 0.3"),
    ({"gate": "clip(hihg: 0.3)"}, "RL205", "hihg"),
    ({"sampling": "group(8)"}, "RL205", "group(8)"),
    ({"sampling": "group"}, "RL205", "group"),
    ({"feedback": "verify"}, "RL205", "verify"),
    ({"feedback": "verify(math, tolerance: 1)"}, "RL208", "1"),
    ({"sampling": "group(8, max_tokens: 9, top_k: 0)"}, "RL209", "0"),
    ({"sampling": "group(8, max_tokens: 9, top_k: -1)"}, "RL209", "-1"),
    ({"sampling": "group(8, max_tokens: 9, top_k: null)"}, "RL209", "null"),
    ({"gate": "clip(dual: 0)"}, "RL209", "0"),
]


@pytest.mark.parametrize(("axes", "code", "text"), WRONG, ids=[next(iter(w[0].values())) for w in WRONG])
def test_wrong_values_are_underlined(tmp_path, axes, code, text):
    assert (code, text) in found(tmp_path, recipe_text(**axes))


@pytest.mark.parametrize(("body", "code", "text"), [
    ("model { policy: toy }", "RL203", "toy"), ("model { dtype: \"bf16\" }", "RL203", '"bf16"'),
    ("model { context: 30s }", "RL203", "30s"), ("feedback { timeout: 30 }", "RL203", "30"),
    ("feedback { max_failed: 120% }", "RL204", "120%"), ("optim { adamw(lr: -1) }", "RL204", "-1"),
    ("optim { adam(lr: 1) }", "RL201", "adam"), ("optim { clip_grad: 0 }", "RL209", "0"),
    ("track { mlflow: \"nowhere:5000\" }", "RL204", '"nowhere:5000"'),
    ("track { mlflow: \"none\" }", "RL209", '"none"'), ("optim { updates_per_batch: 0 }", "RL204", "0"),
    ("budget { steps: 1.5 }", "RL203", "1.5"), ("evaluate { 5 }", "RL203", "5"), ("seed = -1", "RL204", "-1"),
    ("evaluate { gsm8k(sample: 4) }", "RL205", "sample"), ("evidence { baseline: \"x\" }", "RL203", '"x"'),
    ("evidence { baseline: grppo }", "RL201", "grppo"),
    ("critic { warmup_steps: 3 }", "RL208", "3"), ("model { reference: \"x\" }", "RL208", '"x"'),
    ("evaluate { every: 3 }", "RL208", "3"), ("track { mlflow: none, experiment: \"x\" }", "RL208", '"x"'),
])
def test_wrong_settings_are_underlined(tmp_path, body, code, text):
    assert found(tmp_path, recipe_text(body=body)) == [(code, text)]


@pytest.mark.parametrize(("body", "axes"), [
    ("critic { warmup_steps: 3 }", {"advantage": "gae"}),
    ("model { reference: \"x\" }", {"gate": "clip(0.2) + kl(0.1)"}),
    ("model { reference: \"x\" }", {"feedback": "verify(math) + kl_in_reward(0.1)", "advantage": "gae"}),
    ("evaluate { gsm8k, every: 3 }", {}),
])
def test_settings_with_a_reader_are_fine(tmp_path, body, axes):
    assert found(tmp_path, recipe_text(body=body, **axes)) == []


def test_what_a_parent_wrote_for_a_reader_that_was_replaced_is_left_over(tmp_path):
    text = recipe_text(body="critic { warmup_steps: 3 }", advantage="gae") \
        + "recipe x extends base { advantage = group_norm }\n"
    assert found(tmp_path, text) == []


def test_all_errors_come_at_once_in_file_order(tmp_path):
    text = recipe_text(gate="clip(-1, dual: 0)", advantage="gorup_norm", sampling="group(0, max_tokens: -5)",
                       body="data { promts: 3 }")
    problems = errors(write(tmp_path, main=text))
    assert [d.code for d in problems] == ["RL204", "RL204", "RL201", "RL204", "RL209", "RL201"]
    assert [d.position for d in problems] == sorted(d.position for d in problems)


def test_messages_help(tmp_path):
    by_code = {}
    for axes, code, _ in WRONG:
        by_code.setdefault(code, []).extend(errors(write(tmp_path, main=recipe_text(**axes))))
    for problems in by_code.values():
        for d in problems:
            assert d.message[0].isupper() or d.message[0] == "`", d
            assert d.message.endswith("."), d
    nearest = errors(write(tmp_path, main=recipe_text(reduction="gae")))[0]
    assert "advantage" in nearest.fix
    nearest = errors(write(tmp_path, main=recipe_text(gate="clp")))[0]
    assert "`clip`" in nearest.fix


@pytest.mark.parametrize("axis, text, fix", [
    ("gate", "2 * clip(0.2)", "Write GATE + REGULARISER"), ("gate", "clip(0.2) - entropy(0.1)", "Write GATE + REG"),
    ("sampling", "group(8, max_tokens: 6) + keep(mixed)", "Write SAMPLER | STAGE"),
    ("gate", "clip(20%)", "Write 0.2."), ("sampling", "group(8%, max_tokens: 6)", "Write it without this unit")])
def test_a_wrong_form_is_told_the_right_one(tmp_path, axis, text, fix):
    with pytest.raises(RecipeError) as refused:
        typed(tmp_path, recipe_text(**{axis: text}))
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "RL203" and diagnostic.fix.startswith(fix)
