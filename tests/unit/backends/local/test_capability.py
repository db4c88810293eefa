"""What the page of capabilities says is what compiling and launching do."""

import sys
from subprocess import run

import pytest

from rldsl.axes import discover
from rldsl.axes.base import Schedule
from rldsl.backends.local.capability import _samples, apart, capability
from rldsl.compiler.check import check
from tests.probing import recipe_of


@pytest.mark.parametrize("axis, text, runs", [
    ("advantage", "gae", "some"), ("advantage", "gae(cross_segment: true)", "some"), ("advantage", "turn_gae", "yes"),
    ("reduction", "turn_mean", "yes"), ("advantage", "rae", "no"), ("gate", "dpo(0.1)", "yes"),
    ("advantage", "remax", "yes"), ("advantage", "monte_carlo", "yes")])
def test_what_is_missing_is_refused_and_the_rest_is_not(axis, text, runs):
    """RL406 is what is lacking; where something else must stand beside, the refusal says so. Segments come from nothing
    that runs here, and a rule of their own says so."""
    found = capability(axis, text.partition("(")[0])
    assert found.runs == runs
    codes = {d.code for d in check(recipe_of(**{axis: text}))}
    assert ("RL406" in codes) == (runs == "no")
    assert bool(codes & {"RL304", "RL318", "RL322"}) == (bool(found.beside) or "cross_segment" in text)


def test_an_environment_is_asked_for_by_name():
    assert capability("sampling", "turns").lacks == ("`turns` needs an environment of several turns",)
    assert capability("advantage", "gigpo").beside == ("`branch` or `tree`", "`steps`")


@pytest.mark.parametrize("name", discover.names("system"))
def test_what_overlaps_or_stands_apart_needs_more_than_one_process(name):
    choice = next(c for c in _samples("system", name))
    alone = not choice.overlaps() if isinstance(choice, Schedule) else choice.shared()
    assert (apart(choice) is None) == alone == (capability("system", name).runs == "yes")


def test_asking_imports_no_torch():
    code = "import sys; from rldsl.backends.local.capability import capability; capability('gate', 'clip'); " \
           "sys.exit('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
