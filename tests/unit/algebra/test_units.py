"""Turns, steps, segments and their siblings: where units begin and end, and values compared inside them."""

from __future__ import annotations

import pytest

from rldsl.algebra import expr as x
from rldsl.algebra import units
from rldsl.algebra.evaluate import evaluate, gradient
from rldsl.algebra.grain import carries_gradient, grain, grains, scope
from rldsl.algebra.layout import layout
from rldsl.algebra.variables import LOGP, TOKEN_REWARD, TOKENS, VALUE

SHAPE = layout([3, 2, 1], [0, 0, 1], turns=[[5, 5, 6], [1, 2], [0]], states=[["a", "?", "b"], ["a", "b"], ["a"]])
ENV = {"tokens": [1.0] * 6, "token_reward": [0.0, 1.0, 2.0, 0.0, 4.0, 8.0], "values": [0.5, 9.0, 0.25, 0.0, 1.0, 2.0],
       "logp_current": [3.0, 1.0, 2.0, 1.0, 1.0, 0.0]}


def value(e):
    return evaluate(e, ENV, SHAPE).data


def test_where_units_begin_and_end():
    assert value(units.is_last(x.TURN)) == [0, 1, 1, 1, 1, 1]
    assert value(units.is_first(x.TURN)) == [1, 0, 1, 1, 1, 1]
    assert value(units.at_first(VALUE, x.TURN)) == [0.5, 0.25, 0.0, 1.0, 2.0]
    assert value(units.after(VALUE, x.TURN)) == [0.25, 0.0, 1.0, 0.0, 0.0]
    assert value(units.so_far(TOKEN_REWARD)) == [0, 1, 3, 0, 4, 8]


def test_returns_discount_by_unit():
    assert value(units.unit_return(TOKEN_REWARD, 0.5, x.TURN)) == [1 + 0.5 * 2, 2, 0 + 0.5 * 4, 4, 8]


def test_one_td_step_per_unit():
    last = 2 - 0.25
    first = 1 + 0.5 * 0.25 - 0.5 + 0.4 * last
    found = value(units.unit_gae(TOKEN_REWARD, VALUE, 0.5, 0.4, x.TURN))
    assert found[:3] == pytest.approx([first, first, last])


def test_turns_meet_their_siblings_by_number_and_by_state():
    first = units.at_first(VALUE, x.TURN)
    assert value(x.mean(first, x.ORDINAL)) == [0.25, 0.625, 2.0]
    assert value(x.mean(first, x.STATE)) == [0.25, 0.625, 2.0]
    other = layout([2, 2], [0, 0], turns=[[0, 1], [0, 1]], states=[["b", "a"], ["a", "a"]])
    again = evaluate(x.total(x.total(TOKENS, x.TURN), x.STATE), {"tokens": [1.0] * 4}, other).data
    assert again == [1.0, 3.0]
    with pytest.raises(KeyError, match="no states"):
        evaluate(x.mean(first, x.STATE), ENV, layout([3, 2, 1], [0, 0, 1], turns=[[0, 0, 1], [0, 1], [0]]))


def test_order_statistics_treat_equal_values_alike():
    assert value(x.above(LOGP, x.RESPONSE)) == [0, 2, 1, 0, 0, 0]
    assert value(x.upto(LOGP, x.RESPONSE)) == [6, 1, 3, 2, 2, 0]
    assert value(x.above(LOGP, x.GROUP)) == [0, 2, 1, 2, 2, 0]
    assert value(x.upto(LOGP, x.UPDATE)) == [8, 3, 5, 3, 3, 0]


def test_order_statistics_carry_no_gradient_and_widen_the_scope():
    e = x.above(LOGP, x.UPDATE) * LOGP
    assert gradient(e, ENV, SHAPE)["logp_current"] == value(x.above(LOGP, x.UPDATE))
    assert not carries_gradient(x.upto(LOGP, x.UPDATE)) and scope(e) == x.UPDATE and grain(e) == x.TOKEN
    assert grains(e) == {x.TOKEN, x.UPDATE}
