"""What the page of capabilities says is what compiling and launching do."""

import sys
from subprocess import run

import pytest

from rldsl.axes import discover
from rldsl.axes.base import Schedule
from rldsl.backends.local.capability import apart, capability
from rldsl.compiler.check import check
from tests.probing import recipe_of


@pytest.mark.parametrize("axis, text, runs", [
    ("advantage", "gae", "some"), ("advantage", "gae(cross_segment: true)", "some"), ("advantage", "turn_gae", "no"),
    ("reduction", "turn_mean", "no"), ("gate", "dpo(0.1)", "yes"), ("advantage", "remax", "yes"),
    ("advantage", "monte_carlo", "yes")])
def test_what_is_missing_is_refused_and_the_rest_is_not(axis, text, runs):
    """What lacks is RL406, or a rule that says it better; what stands beside takes it away."""
    found = capability(axis, text.partition("(")[0])
    assert found.runs == runs
    refused = bool({"RL304", "RL322", "RL406"} & {d.code for d in check(recipe_of(**{axis: text}))})
    assert refused == (runs == "no" or "cross_segment" in text or bool(found.beside))


@pytest.mark.parametrize("name", discover.names("system"))
def test_what_overlaps_or_stands_apart_needs_more_than_one_process(name):
    cls = discover.find("system", name)
    choice = cls(**dict.fromkeys(cls.__dataclass_fields__, 1))
    alone = not choice.overlaps() if isinstance(choice, Schedule) else choice.shared()
    assert (apart(choice) is None) == alone == (capability("system", name).runs == "yes")


def test_asking_imports_no_torch():
    code = "import sys; from rldsl.backends.local.capability import capability; capability('gate', 'clip'); " \
           "sys.exit('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
