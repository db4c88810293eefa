import pytest

from rldsl.diagnostics.suggest import closest

KNOWN = ["group_norm", "group_mean", "batch_norm", "monte_carlo", "rloo", "gae"]


@pytest.mark.parametrize(("name", "best"), [("group_nrom", "group_norm"), ("Group-Norm", "group_norm"), ("rlo", "rloo"),
                                            ("montecarlo", "monte_carlo"), ("monte", "monte_carlo"), ("gea", "gae")])
def test_the_nearest_name_comes_first(name, best):
    assert closest(name, KNOWN)[0] == best


def test_nothing_near_nothing_said():
    assert closest("tensor_parallel", KNOWN) == closest("", KNOWN) == closest("g" * 100_000, KNOWN) == []


def test_at_most_n_and_always_in_the_same_order():
    assert closest("group", KNOWN, 1) == closest("group", reversed(KNOWN), 1) == ["group_mean"]
    assert len(closest("group_norm", KNOWN, 2)) == 2
