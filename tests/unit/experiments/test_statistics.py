"""Intervals, paired tests, Holm's correction and Shapley values, against numbers worked out by hand or by scipy."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from scipy import stats

from rldsl.experiments.attribution import shapley
from rldsl.experiments.statistics import estimate, holm, paired


def test_the_interval_of_a_mean() -> None:
    values = [0.2, 0.5, 0.6, 0.3]
    found = estimate(values)
    low, high = stats.t.interval(0.95, 3, loc=found.mean, scale=stats.sem(values))
    assert found.mean == pytest.approx(0.4) and found.n == 4
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))
    assert estimate([0.3]).half is None


def test_differences_are_paired_by_seed() -> None:
    old, new = {1: 0.1, 2: 0.5, 3: 0.9, 4: 0.0}, {1: 0.2, 2: 0.62, 3: 0.98, 9: 7.0}
    found = paired(old, new)
    wanted = stats.ttest_rel([0.2, 0.62, 0.98], [0.1, 0.5, 0.9])
    assert found.mean == pytest.approx(0.1) and found.n == 3 and found.p == pytest.approx(wanted.pvalue)
    assert found.half == pytest.approx(wanted.confidence_interval().high - 0.1)
    assert paired({1: 0.1}, {2: 0.1}) is None


@pytest.mark.parametrize(("gaps", "p"), [([0.0, 0.0], 1.0), ([0.25, 0.25], None), ([0.25], None)])
def test_without_spread_there_is_no_test(gaps, p) -> None:
    assert paired(dict.fromkeys(range(len(gaps)), 0.0), dict(enumerate(gaps))).p == p


def test_what_rounding_leaves_is_no_difference() -> None:
    old, new = {1: 0.3, 2: 0.3, 3: 0.6}, {1: 0.1 + 0.2, 2: 0.1 + 0.2, 3: 0.6}
    assert paired(old, new).mean == 0.0 and paired(old, new).p == 1.0
    assert paired({1: 0.1, 2: 0.2}, {1: 0.3, 2: 0.4}).p is None
    assert paired({1: 1e-9, 2: 2e-9}, {1: 3e-9, 2: 5e-9}).p == pytest.approx(stats.ttest_1samp([2, 3], 0).pvalue)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert holm([]) == []


VALUE = {frozenset(): 0.1, frozenset("a"): 0.3, frozenset("b"): 0.2, frozenset("c"): 0.1, frozenset("ab"): 0.7,
         frozenset("ac"): 0.3, frozenset("bc"): 0.25, frozenset("abc"): 0.75}


def by_orders(value, orders):
    gains = dict.fromkeys("abc", 0.0)
    for order in orders:
        for i, x in enumerate(order):
            gains[x] += value[frozenset(order[:i + 1])] - value[frozenset(order[:i])]
    return {x: g / len(orders) for x, g in gains.items()}


def test_shapley_values_are_the_mean_over_all_orders() -> None:
    gains, orders = shapley(VALUE, "abc")
    assert orders == math.factorial(3) and gains == pytest.approx(by_orders(VALUE, list(permutations("abc"))))
    assert sum(gains.values()) == pytest.approx(0.65)


def test_orders_through_a_hole_do_not_count() -> None:
    value = {s: v for s, v in VALUE.items() if s != frozenset("a")}
    left = [o for o in permutations("abc") if o[0] != "a"]
    gains, orders = shapley(value, "abc")
    assert orders == 4 and gains == pytest.approx(by_orders(value, left))
    assert shapley({s: v for s, v in VALUE.items() if len(s) != 1}, "abc") is None
