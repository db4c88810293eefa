"""Sweeps and ablations: values of dimensions, conditions, and what is wrong with either."""

import pytest

from rldsl.compiler.resolve.condition import Condition
from rldsl.compiler.resolve.fold import Scope
from rldsl.compiler.resolve.report import Report
from rldsl.compiler.resolve.variants import ablation_of, sweep_of
from rldsl.diagnostics import RecipeError
from rldsl.grammar.parser import parse_expression

from .project import found, recipe_text, typed, write

TRAINED = 'data { prompts: 8 }\noptim { adamw(lr: 1e-3), updates_per_batch: 2 }'


def points(tmp_path, body, **options):
    """The texts of each point's settings, and the points."""
    path = write(tmp_path, main=recipe_text(body=TRAINED) + f"sweep s of base {{\n{body}\n}}\n")
    sweep, axes, variants = sweep_of(str(path), None, **options)
    made = list(variants.points(sweep, axes))
    return [tuple(s.text for s in p.settings) for p in made], made


@pytest.mark.parametrize(("values", "texts"), [
    ("[0.1, 0.2]", ["0.1", "0.2"]),
    ("1..4", ["1", "2", "3", "4"]),
    ("0.1..0.5 linear 5", ["0.1", "0.2", "0.3", "0.4", "0.5"]),
    ("1e-3..0.1 log 3", ["0.001", "0.01", "0.1"]),
    ("1..100 log 3", ["1", "10", "100"]),
    ("pow2 2..16", ["2", "4", "8", "16"]),
    ("pow2 2..9", ["2", "4", "8"]),
    ("0.2..0.2 linear 1", ["0.2"]),
])
def test_values_of_a_dimension(tmp_path, values, texts):
    assert points(tmp_path, f"gate.high in {values}")[0] == [(t,) for t in texts]


def test_dimensions_multiply_and_zip_moves_together(tmp_path):
    texts, made = points(tmp_path, "gate.high in [0.2, 0.3]\nzip {\n data.prompts in [8, 16]\n sampling.n in [4, 2]\n}")
    assert texts == [("0.2", "8", "4"), ("0.2", "16", "2"), ("0.3", "8", "4"), ("0.3", "16", "2")]
    assert made[3].recipe.settings.data.prompts == 16 and made[3].recipe.sampling[0].choice.n == 2


def test_a_whole_axis_is_set_before_its_parameter(tmp_path):
    _, made = points(tmp_path, "gate.high in [0.5]\ngate in [clip(0.1), cispo(0.1)]")
    assert [(p.recipe.gate.name, p.recipe.gate.choice.high) for p in made] == [("clip", 0.5), ("cispo", 0.5)]


def test_constants_of_the_file_may_be_values(tmp_path):
    path = write(tmp_path, main="let highs = [0.2, 0.4]\nlet most = 2\n" + recipe_text()
                 + "sweep s of base {\n gate.high in highs\n seed in 1..most\n}\n")
    sweep, axes, variants = sweep_of(str(path), None)
    assert [p.recipe.gate.choice.high for p in variants.points(sweep, axes)] == [0.2, 0.2, 0.4, 0.4]


def test_excluded_points(tmp_path):
    _, made = points(tmp_path, "gate.high in [0.2, 0.3]\nadvantage in [group_norm, group_mean]\n"
                               "exclude when gate.high == 0.2 and advantage == group_mean")
    assert [p.excluded for p in made] == [False, True, False, False]


def test_a_point_that_does_not_resolve_is_a_point_with_findings(tmp_path):
    _, made = points(tmp_path, "gate in [clip(0.2), unit]\ngate.high in [0.2, 0.3]\n"
                               "exclude when gate.high == 0.3")
    assert [p.recipe is None for p in made] == [False, False, True, True]
    assert [p.excluded for p in made] == [False, True, False, False]
    assert {d.code for d in made[2].found} == {"RL207"}


@pytest.mark.parametrize(("body", "wrong"), [
    ("gate.hihg in [0.2, 0.3]", [("RL207", "hihg")]),
    ("gait in [clip, unit]", [("RL201", "gait")]),
    ("advantage in [group_norm, group_nrm]", [("RL201", "group_nrm")]),
    ("gate.high in [0.2, -1]", [("RL204", "-1")]),
    ("gate.high in 0.3", [("RL203", "0.3")]),
    ("seed in 3..1", [("RL212", "3..1")]),
    ("seed in []", [("RL212", "[]")]),
    ("gate.high in 1e-3..1e-5 log 3", [("RL212", "1e-3..1e-5 log 3")]),
    ("gate.high in 0.1..0.5", [("RL203", "0.1..0.5")]),
    ("gate.high in 0..1 log 3", [("RL204", "0")]),
    ("gate.high in 0.1..1 log 1", [("RL204", "1")]),
    ("gate.high in 0.1..1 linear 2.5", [("RL203", "2.5")]),
    ("sampling.n in pow2 3..24", [("RL204", "3")]),
    ("zip {\n gate.high in [0.2, 0.3]\n seed in 1..3\n}", [("RL214", "zip {\n gate.high in [0.2, 0.3]"[:3])]),
    ("", [("RL212", "s")]),
    ("seed in 1..1000000000", [("RL213", "s")]),
    ("seed in 1..1000\ngate.high in 0.1..1 linear 1000\ndata.prompts in 1..1000", [("RL213", "s")]),
    ("seed in 1..2\nexclude when gate", [("RL203", "gate")]),
    ("seed in 1..2\nexclude when gate == klip", [("RL201", "klip")]),
    ("seed in 1..2\nexclude when gate.hig == 0.2", [("RL207", "gate.hig")]),
    ("seed in 1..2\nexclude when gate < clip", [("RL203", "clip")]),
    ("seed in 1..2\nexclude when 1 == 1", [("RL203", "1")]),
])
def test_what_is_wrong_is_said_when_the_file_is_compiled(tmp_path, body, wrong):
    text = recipe_text(body=TRAINED) + f"sweep s of base {{\n{body}\n}}\n"
    seen = found(tmp_path, text)
    if body.startswith("zip"):
        assert [code for code, _ in seen] == ["RL214"]
    else:
        assert seen == wrong


def test_the_arithmetic_of_too_many_points_is_shown(tmp_path):
    path = write(tmp_path, main=recipe_text() + "sweep s of base { seed in 1..1000000000, gate.high in [0.2, 0.3] }\n")
    with pytest.raises(RecipeError, match=r"1,000,000,000 × 2 = 2,000,000,000 combinations"):
        sweep_of(str(path), None)


def test_a_value_cannot_be_set_and_swept(tmp_path):
    with pytest.raises(RecipeError, match="is set and swept"):
        points(tmp_path, "gate.high in [0.2, 0.3]", sets=["gate.high=0.4"])


@pytest.mark.parametrize(("text", "holds"), [
    ("gate == clip", True), ("gate == kl", True), ("gate == clip(0.2, high: 0.3)", True), ("gate == clip(0.2)", False),
    ("gate != unit", True), ("gate.high == 0.3", True), ("gate.high > 0.2 and gate.low <= 0.2", True),
    ("0.3 <= gate.high", True), ("not gate.high == 0.3 or seed == 4", False), ("data.prompts == 8", True),
    ("optim.lr == 1e-3", True), ("optim.schedule == constant", True), ("gate.kl.coef == 0.1", True),
    ("model.policy == none", True), ("gate.high == gate.low", False), ("sampling.n >= 4", True),
])
def test_conditions(tmp_path, text, holds):
    recipe = typed(tmp_path, recipe_text(body=TRAINED, gate="clip(0.2, high: 0.3) + kl(0.1)"))
    report = Report()
    assert Condition(parse_expression(text), Scope({}, report), report).holds(recipe) is holds
    assert not report.found


def ablation(tmp_path, options):
    text = recipe_text("a") + "recipe b extends a { gate.high = 0.3 }\nablate x from a to b " + options
    return ablation_of(str(write(tmp_path, main=text)), None)[1]


def test_options_of_an_ablation(tmp_path):
    read = ablation(tmp_path, '{ order: [gate, sampling], seeds: 3, metric: "reward/mean" }')
    assert ([n.id for n in read.order], read.seeds, read.metric, read.every) == (["gate", "sampling"], 3,
                                                                                 "reward/mean", False)
    assert ablation(tmp_path, "{ order: all }").every and ablation(tmp_path, "").order == ()


@pytest.mark.parametrize(("options", "wrong"), [
    ("{ odrer: [gate] }", ("RL201", "odrer")), ("{ order: [gait] }", ("RL201", "gait")),
    ("{ order: [gate, gate] }", ("RL110", "gate")), ("{ order: 3 }", ("RL203", "3")),
    ("{ seeds: 0 }", ("RL204", "0")), ("{ metric: reward }", ("RL203", "reward")),
])
def test_wrong_options(tmp_path, options, wrong):
    text = recipe_text("a") + f"recipe b extends a {{ gate.high = 0.3 }}\nablate x from a to b {options}\n"
    assert found(tmp_path, text) == [wrong]


@pytest.mark.parametrize(("name", "code"), [("nope", "RL201"), (None, "RL202")])
def test_which_sweep_is_meant(tmp_path, name, code):
    two = "".join(f"sweep {n} of base {{ seed in 1..2 }}\n" for n in ("one", "other"))
    path = write(tmp_path, main=recipe_text() + two)
    with pytest.raises(RecipeError, match=code):
        sweep_of(str(path), name)
    assert sweep_of(str(path), "other")[0].name == "other"
