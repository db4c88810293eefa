import json
from dataclasses import replace

import pytest

from rldsl.compiler import check as checks
from rldsl.compiler.compile import compile_recipe
from rldsl.compiler.plan import VERSION, from_json, identity, plan_path, read_plan, to_json, write_plan
from rldsl.diagnostics import RecipeError, at

from .hand_made import HERE, grpo, node, with_optim


def plan(recipe=None, **options):
    return compile_recipe(recipe or grpo(), **options)[0]


def test_a_plan_comes_back_from_its_file(tmp_path):
    p = plan(grpo(distribution=(node("distribution", "icepop"),)), profile="toy", sets=["gate.low=0.1"])
    path = write_plan(p, tmp_path)
    assert path.parent == tmp_path / ".rldsl" / "plans" and path.name == f"grpo-{identity(p)[:8]}.json"
    assert read_plan(path) == p


def test_the_same_recipe_gives_the_same_bytes(tmp_path):
    one = write_plan(plan(), tmp_path).read_bytes()
    assert write_plan(plan(), tmp_path).read_bytes() == one
    assert json.loads(one)["version"] == VERSION
    assert len(list((tmp_path / ".rldsl" / "plans").iterdir())) == 1


def test_a_different_recipe_or_seed_has_its_own_file(tmp_path):
    paths = {plan_path(plan(r), tmp_path) for r in (grpo(), with_optim(grpo(), epochs=2), replace(grpo(), seed=2))}
    assert len(paths) == 3


def test_the_plan_holds_the_objective_as_written_and_as_run():
    p = plan(grpo(distribution=(node("distribution", "icepop"),)))
    assert "logp_old" in p.formula.reads() and "logp_old" not in p.objective.reads()
    assert p.resolved["dtype"] in ("bfloat16", "float32")
    assert p.fingerprints["objective"] and p.seed == 1
    assert p.notes[0].source == "old_is_current"


def test_passes_can_be_left_out():
    assert plan(off={"old_is_current"}).graph.node("logprob.old") is not None
    assert plan().graph.node("logprob.old") is None


def test_json_data_is_plain(tmp_path):
    assert from_json(json.loads(json.dumps(to_json(plan()), allow_nan=False))) == plan()


@pytest.mark.parametrize("text, says", [("", "cannot be read"), ("[]", "plan version list"), ("{}", "version None"),
                                        ('{"version": 99}', "version 99")])
def test_what_is_no_plan_is_refused(tmp_path, text, says):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(RecipeError, match=says) as error:
        read_plan(path)
    assert error.value.diagnostics[0].code == "RL407"


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    import os

    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_plan(plan(), tmp_path)
    assert list((tmp_path / ".rldsl" / "plans").iterdir()) == []


def rule(*found):
    return lambda recipe: iter(found)


def test_rules_report_in_file_order_and_each_finding_once(monkeypatch):
    late = at("RL505", "late", replace(HERE, line=9, end_line=9), severity="warning")
    early = at("RL301", "early", HERE)
    monkeypatch.setattr(checks, "all_rules", lambda: (rule(late, early), rule(early)))
    assert [d.message for d in checks.check(grpo())] == ["Early.", "Late."]
    with pytest.raises(RecipeError) as error:
        compile_recipe(grpo())
    assert [d.code for d in error.value.diagnostics] == ["RL301", "RL505"]


def test_warnings_come_beside_the_plan(monkeypatch):
    warning = at("RL505", "late", HERE, severity="warning")
    monkeypatch.setattr(checks, "all_rules", lambda: (rule(warning),))
    assert compile_recipe(grpo())[1] == [warning]
