"""What must hold for every choice, whoever wrote it: its examples, its documentation, the laws of the objective."""

from __future__ import annotations

import importlib
import inspect
import json
import random

import pytest

from rldsl.algebra.evaluate import gradient
from rldsl.algebra.grain import variables
from rldsl.algebra.layout import layout
from rldsl.axes import base, discover
from rldsl.axes.detect import Detector
from rldsl.axes.judging import ModelSource
from rldsl.compiler.objective import build
from rldsl.compiler.objective_data import from_json, to_json
from rldsl.runtime.health import watch
from rldsl.runtime.metrics import metric
from tests.frozen import frozen, moved

from .harness import (
    CHOICES,
    EXAMPLES,
    OBJECTIVE_CHOICES,
    another_order,
    example_choice,
    finite,
    numbers,
    objective_of,
    over_pairs,
    place,
    random_batch,
    run,
)

SHAPE = layout([2, 1, 3, 2], [0, 0, 1, 1], pairs=[0, 0, 1, 1], turns=[[0, 0], [0], [0, 0, 1], [0, 1]],
               steps=[[0, 0], [0], [0, 1, 1], [0, 1]], segments=[[0, 1], [0], [0, 0, 1], [0, 0]])
every = pytest.mark.parametrize("axis, name", CHOICES, ids=lambda x: str(x))
SCORED = [(a, n) for a, n in OBJECTIVE_CHOICES if not over_pairs(objective_of(a, n))]
"""Choices in whose objective a response has a score: a pair has none."""
in_objective = pytest.mark.parametrize("axis, name", OBJECTIVE_CHOICES, ids=lambda x: str(x))


@pytest.mark.parametrize("axis, name, example", EXAMPLES, ids=[f"{a}.{n}: {e.says}" for a, n, e in EXAMPLES])
def test_worked_examples_hold(axis, name, example):
    choice = example_choice(axis, name, example)
    assert not choice.check() and example.expect
    if isinstance(choice, base.Source) and not isinstance(choice, ModelSource):
        found = {"scores": [_score(choice.scorer(), r) for r in example.batch]}
    elif isinstance(choice, base.Latency):
        found = {"seconds": [choice.mean() if "mean" in at else choice.quantile(at["share"]) for at in example.batch]}
    elif isinstance(choice, base.Schedule):
        found = {"actions": _actions(choice, example.batch)}
    elif isinstance(choice, Detector):
        found = {"speaks": _speaks(choice, example.batch)}
    else:
        found = _columns(run(build(place(choice, example.beside)), example.batch, example.trainer_version), example)
    for key, wanted in example.expect.items():
        assert found[key] == _close(wanted, example.tolerance), key


def _score(scorer, row):
    module, _, function = scorer.function.partition(":")
    score = getattr(importlib.import_module(module), function)
    return score(row["text"], row["answer"], row.get("metadata", {}), **scorer.options)


def _actions(schedule, events):
    state, out = schedule.initial(), []
    for event in events:
        state, actions = schedule.step(state, base.Event(**event))
        out.append([str(a) for a in actions])
    return out


def _speaks(detector, history):
    """The batches of a history, counted from 1, in which a detector says something."""
    state, out = {}, []
    for number, metrics in enumerate(history, 1):
        state, found = watch([detector], json.loads(json.dumps(state)), metrics, 256)
        out += [number for d in found if d.code == detector.code and d.message.startswith(detector.name)]
    return out


@pytest.mark.parametrize("name", discover.names(Detector.axis))
def test_a_detector_shows_when_it_speaks_and_when_it_is_silent(name):
    spoken = [bool(e.expect["speaks"]) for e in discover.examples(Detector.axis, name)]
    assert True in spoken and False in spoken
    cls = discover.find(Detector.axis, name)
    assert cls.reads and cls.remedy and all(metric(read).definition for read in (*cls.reads, *cls.also))


def _columns(out, example):
    found = {"objective": out["objective"]}
    for key in example.expect.keys() - {"objective"}:
        rows = [r.get(key) for r in out["responses"]]
        scalar = [w is None or not isinstance(w, list) for w in example.expect[key]]
        found[key] = [_one(r) if s else r for r, s in zip(rows, scalar, strict=True)]
    return found


def _one(row):
    if not isinstance(row, list):
        return row
    assert row.count(row[0]) == len(row), f"the example gives one number, the tokens have {row}"
    return row[0]


def _close(wanted, tolerance):
    if isinstance(wanted, list):
        return [_close(w, tolerance) for w in wanted]
    return pytest.approx(wanted, rel=tolerance, abs=tolerance) if isinstance(wanted, float) else wanted


@every
def test_documentation_says_what_how_it_differs_and_where_it_comes_from(axis, name):
    doc = importlib.import_module(discover.find(axis, name).__module__).__doc__
    first = doc.strip().split("\n")[0]
    assert first.endswith((".", ":")) or "." in first
    assert "Source:" in doc
    assert any(word in doc for word in ("Differs from", "Asserts", "Looks at", "compares", "`current / old`"))


@every
def test_a_choice_file_stays_small_and_imports_no_heavy_library(axis, name):
    source = inspect.getsource(importlib.import_module(discover.find(axis, name).__module__))
    assert source.count("\n") <= 120
    assert not any(f"import {lib}" in source for lib in ("torch", "numpy", "transformers", "mlflow"))


@in_objective
def test_it_has_a_worked_example(axis, name):
    assert discover.examples(axis, name)


@in_objective
def test_the_objective_survives_the_trip_through_the_plan(axis, name):
    objective = objective_of(axis, name)
    assert from_json(to_json(objective)) == objective


@in_objective
def test_gradient_equals_finite_differences(axis, name):
    """Of every term, with stopped factors held, in every variable that carries gradient."""
    draw, step, shape = random.Random(4), 1e-6, SHAPE
    objective = objective_of(axis, name)
    for e in (objective.policy, *(r.expr for r in objective.regularisers)):
        env = {v.name: [draw.uniform(-1.4, -0.6) for _ in range(shape.size(v.grain))] for v in variables(e)}
        for at, exact in gradient(e, env, shape).items():
            for t, g in enumerate(exact):
                right, left = (frozen(e, env, moved(env, at, t, d), shape) for d in (step, -step))
                assert (right - left) / (2 * step) == pytest.approx(g, rel=1e-5, abs=1e-7)


@in_objective
def test_the_order_of_rows_does_not_matter(axis, name):
    objective, batch = objective_of(axis, name), random_batch(5)
    order = another_order(objective, len(batch))
    plain, mixed = run(objective, batch), run(objective, [batch[i] for i in order])
    assert mixed["objective"] == pytest.approx(plain["objective"], abs=1e-12)
    for place_, i in enumerate(order):
        assert numbers(mixed["responses"][place_]) == pytest.approx(numbers(plain["responses"][i]), abs=1e-12)


@pytest.mark.parametrize("axis, name", SCORED, ids=str)
def test_a_response_without_a_score_has_no_influence(axis, name):
    objective, batch = objective_of(axis, name), random_batch(7)
    foreign = {**batch[0], "reward": None, "logp_current": [-9.0] * len(batch[0]["logp_current"]), "prompt": "p1"}
    with_it, without = run(objective, [*batch, foreign]), run(objective, batch)
    assert with_it["responses"][-1] == {"kept": False, "reward": None}
    assert with_it["responses"][:-1] == without["responses"] and with_it["objective"] == without["objective"]


@in_objective
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_all_equal_groups_and_extreme_ratios_stay_finite(axis, name, reward):
    objective = objective_of(axis, name)
    for spread in (0.0, 200.0):
        batch = [r | {"reward": reward} for r in random_batch(11, spread=spread)]
        assert finite(run(objective, batch))
    assert finite(run(objective, [random_batch(2)[0]]))
