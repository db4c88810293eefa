"""Random recipes are refused with codes and places, or compile; those that compile train with finite numbers."""

import itertools

import pytest

from rldsl.axes import discover

from .outcome import outcome
from .recipes import recipe_text

RECIPES = 300
TRAINED = 30
"""How many of those that compile are trained."""
KINDS = {"refused", "compiled", "trained", "stopped"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of each seed; the first ones that compile are trained, one of every few."""
    found, trained = [], itertools.count(1)
    for seed in range(RECIPES):
        text, folder = recipe_text(seed), tmp_path_factory.mktemp("compiled")
        result = outcome(text, folder, train=False)
        if result.kind == "compiled" and seed % 3 == 0 and next(trained) <= TRAINED:
            result = outcome(text, tmp_path_factory.mktemp("trained"), train=True)
        found.append(result)
    return found


def test_every_recipe_is_refused_for_a_reason_or_works(outcomes):
    """What else could happen is an exception of the fixture."""
    assert {o.kind for o in outcomes} <= KINDS
    assert all(bool(o.codes) == (o.kind in ("refused", "stopped")) for o in outcomes)


def test_enough_of_them_reach_each_end(outcomes):
    kinds = [o.kind for o in outcomes]
    assert kinds.count("trained") >= 10 and kinds.count("refused") >= 60
    assert kinds.count("compiled") + kinds.count("trained") >= 50
    refusals = {code for o in outcomes for code in o.codes}
    assert len([c for c in refusals if c.startswith("RL3")]) >= 10 and refusals & {"RL204", "RL205", "RL208"}


def test_a_seed_is_one_recipe():
    assert [recipe_text(s) for s in range(20)] == [recipe_text(s) for s in range(20)]
    assert len({recipe_text(s) for s in range(RECIPES)}) == RECIPES


def test_every_choice_is_drawn():
    text = "\n".join(recipe_text(s) for s in range(2500))
    missing = [f"{axis}.{name}" for axis in discover.AXES for name in discover.names(axis) if name not in text]
    assert not missing
