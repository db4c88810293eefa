"""The plain evaluator against hand-made numbers and finite differences."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings

from rldsl.algebra import expr as x
from rldsl.algebra.evaluate import evaluate, gradient
from rldsl.algebra.grain import carries_gradient, grain, scope, variables
from rldsl.algebra.layout import layout
from rldsl.algebra.text import from_data, to_data
from rldsl.algebra.variables import LOGP, LOGP_OLD, REWARD
from tests.frozen import frozen, moved

from .strategies import EXPRESSIONS, batches

SHAPE = layout([2, 1, 3], [7, 7, 9])
ENV = {"reward": [1.0, 0.0, 5.0], "logp_current": [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], "logp_old": [-1.0] * 6}


def value(e, env=ENV, shape=SHAPE):
    return evaluate(e, env, shape).data


def test_reductions_at_each_grain():
    assert value(x.mean(LOGP, x.RESPONSE)) == [-1.5, -3.0, -5.0]
    assert value(x.total(REWARD, x.GROUP)) == [1.0, 5.0]
    assert value(x.count(REWARD, x.GROUP)) == [2.0, 1.0]
    assert value(x.highest(LOGP, x.UPDATE)) == [-1.0]
    assert value(REWARD - x.mean(REWARD, x.GROUP)) == [0.5, -0.5, 0.0]


def test_scan_and_shift_stay_inside_a_response():
    assert value(x.discounted(LOGP, 0.5)) == [-2.0, -2.0, -3.0, -8.0, -8.0, -6.0]
    assert value(x.following(LOGP, 9.0)) == [-2.0, 9.0, 9.0, -5.0, -6.0, 9.0]


def test_mean_and_std_are_exact_where_all_values_are_equal():
    shape, env = layout([1, 1, 1], [0, 0, 0]), {"reward": [0.1, 0.1, 0.1]}
    assert value(REWARD - x.mean(REWARD, x.GROUP), env, shape) == [0.0, 0.0, 0.0]
    assert value(x.std(REWARD, x.GROUP), env, shape) == [0.0]
    assert value(x.std(REWARD, x.GROUP), {"reward": [0.1 + 0.2, 0.3, 0.3]}, shape) == [0.0]


def test_a_branch_not_taken_gives_neither_value_nor_gradient():
    zero = LOGP - LOGP
    e = x.where(x.gt(zero, 1.0), 1.0 / zero + x.log(zero), LOGP)
    assert value(e) == ENV["logp_current"]
    assert gradient(e, ENV, SHAPE)["logp_current"] == [1.0] * 6


@pytest.mark.parametrize("e, expected", [
    (x.minimum(LOGP, LOGP * 1.0), 1.0), (x.clip(LOGP, -1.0, 5.0), 1.0), (x.clip(LOGP, -0.5, 5.0), 0.0),
    (x.maximum(LOGP, -1.0), 0.5), (x.sg(LOGP) * LOGP, -1.0)])
def test_gradient_conventions_at_the_first_token(e, expected):
    assert gradient(e, ENV, SHAPE)["logp_current"][0] == expected


@pytest.mark.parametrize("d", [200.0, -200.0, 20.0])
def test_log_ratios_are_bounded_before_exp(d):
    env = {**ENV, "logp_current": [d - 1.0, *ENV["logp_current"][1:]]}
    ratio = x.ratio_of(LOGP - LOGP_OLD)
    assert value(ratio, env)[0] == math.exp(math.copysign(20.0, d))
    assert gradient(ratio, env, SHAPE)["logp_current"][0] == (math.exp(20.0) if d == 20.0 else 0.0)


def test_missing_numbers_are_an_error_not_a_guess():
    with pytest.raises(ValueError, match="reward: 2 values for 3 responses"):
        evaluate(REWARD, {"reward": [1.0, 2.0]}, SHAPE)


def test_grain_and_scope_are_read_off_the_expression():
    ratio = x.ratio_of(x.mean(LOGP - LOGP_OLD, x.RESPONSE))
    assert (grain(ratio), scope(ratio), scope(x.sg(ratio) * LOGP)) == (x.RESPONSE, x.RESPONSE, x.RESPONSE)
    assert scope(x.minimum(LOGP, LOGP_OLD)) == x.TOKEN
    assert scope(LOGP / x.std(LOGP, x.UPDATE)) == x.UPDATE
    assert not carries_gradient(x.sg(LOGP))


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, batches())
def test_gradient_equals_finite_differences(e, batch):
    shape, env = batch
    step, at = 1e-6, LOGP.name
    exact = gradient(e, env, shape)[at] if LOGP in variables(e) else [0.0] * len(env[at])
    scale = 1.0 + max(abs(v) for v in evaluate(e, env, shape).data)
    rest = frozen(e, env, env, shape)
    for t in range(len(env[at])):
        right = (frozen(e, env, moved(env, at, t, step), shape) - rest) / step
        left = (rest - frozen(e, env, moved(env, at, t, -step), shape)) / step
        assume(abs(left - right) < 1e-3 * scale)  # a kink: both one-sided derivatives must agree
        beside = gradient(e, moved(env, at, t, step), shape)[at][t] if LOGP in variables(e) else 0.0
        assume(abs(beside - exact[t]) < 1e-3 * scale)  # a tie, min(x, max(x, 0)) at 0: shared out among equals
        assert abs((left + right) / 2 - exact[t]) < 1e-4 * scale * (1 + abs(exact[t]))


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS)
def test_json_form_round_trips(e):
    assert from_data(to_data(e)) == e


def test_a_spread_whose_squares_overflow_is_still_a_number():
    env = {**ENV, "reward": [1e200, -1e200, 5.0]}
    assert value(x.std(REWARD, x.GROUP), env)[0] == pytest.approx(1e200)
