"""Rewards that are kept apart, `[a, b]`, and several answers in one response."""

from __future__ import annotations

import random

import pytest

from rldsl.axes import discover
from rldsl.compiler.canonical import canonical, from_canonical
from rldsl.compiler.objective import build
from rldsl.compiler.objective_data import from_json, to_json
from rldsl.compiler.recipe import vector
from rldsl.compiler.show import show_data, show_feedback
from rldsl.runtime.stages_data import answers
from tests.probing import probe_of, recipe_of, row

VECTOR = {"feedback": '[verify(exact), 0.5 * format("x")] + crash_is_failure', "advantage": "gdpo",
          "sampling": "group(2, max_tokens: 4)"}


def test_a_vector_keeps_its_order_through_the_plan():
    recipe = recipe_of(**VECTOR)
    data = canonical(recipe)
    assert vector(from_canonical(data).feedback) and canonical(from_canonical(data)) == data
    assert show_feedback(recipe.feedback) == '[verify(exact), 0.5 * format("x")] + crash_is_failure'
    assert show_data(data["axes"]["feedback"]) == '[verify(exact), 0.5 * format("x")] + crash_is_failure'
    swapped = recipe_of(**{**VECTOR, "feedback": '[0.5 * format("x"), verify(exact)] + crash_is_failure'})
    assert canonical(swapped)["axes"] != data["axes"]


def test_an_estimator_of_parts_reads_a_vector_as_it_reads_a_sum():
    rows = [row(1.0, reward=r, scores={"verify": v, "format": f}) for r, v, f in ((1.5, 1.0, 1.0), (0.0, 0.0, 0.0))]
    added = {**VECTOR, "feedback": 'verify(exact) + 0.5 * format("x")'}
    apart = {**VECTOR, "feedback": '[verify(exact), 0.5 * format("x")]'}
    assert probe_of(rows, **apart)["responses"] == probe_of(rows, **added)["responses"]


def test_a_response_is_cut_into_its_answers():
    assert answers("a,b,c", 2, ",") == ["a", "b"]
    assert answers("a", 3, ",") == ["a", "a", "a"] and answers("", 2, ",") == ["", ""]
    assert answers("a,b", 1, None) == ["a,b"]


SETS = {"feedback": '[verify(exact), 2 * format("x")]', "sampling": "answers(3, n: 4, max_tokens: 8)",
        "advantage": "vector(draws: 5, alpha: 0.7)"}


def test_a_small_alpha_weighs_one_component_at_a_time():
    weightings = discover.find("advantage", "vector")(draws=40, alpha=1e-6)._weightings(2)
    assert all(sum(w) == pytest.approx(1.0) and max(w) > 0.999 for w in weightings)
    assert 10 <= sum(w[0] > 0.5 for w in weightings) <= 30


def test_a_large_alpha_weighs_them_alike():
    weightings = discover.find("advantage", "vector")(draws=40, alpha=1e4)._weightings(3)
    assert all(x == pytest.approx(1 / 3, abs=0.03) for w in weightings for x in w)


def test_a_set_is_worth_what_its_best_answers_are_under_each_weighting():
    """Against the formula in plain Python, with the choice's own weightings."""
    draw = random.Random(0)
    scores = [{f"{s}.{j}": draw.random() for s in ("verify", "format") for j in range(3)} for _ in range(4)]
    found = probe_of([row(1.0, scores=s) for s in scores], **SETS)["responses"]
    weightings = discover.find("advantage", "vector")(draws=5, alpha=0.7)._weightings(2)
    assert all(sum(w) == pytest.approx(1.0) and min(w) > 0 for w in weightings)
    worth = [sum(max(w[0] * s[f"verify.{j}"] + w[1] * 2 * s[f"format.{j}"] for j in range(3)) for w in weightings) / 5
             for s in scores]
    mean = sum(worth) / 4
    spread = (sum((x - mean) ** 2 for x in worth) / 4) ** 0.5
    assert [r["advantage"][0] for r in found] == pytest.approx([(x - mean) / (spread + 1e-6) for x in worth])


def test_every_source_scores_every_answer_and_one_number_is_the_best():
    objective = build(recipe_of(**{**SETS, "advantage": "group_mean", "feedback": "verify(exact) + similarity"}))
    assert [(s.label, s.part) for s in objective.scores] == [
        (f"{s}.{j}", j) for s in ("verify", "similarity") for j in range(3)]
    assert from_json(to_json(objective)) == objective
