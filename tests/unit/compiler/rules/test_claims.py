"""What rules say of recipes, on numbers."""

import pytest

from rldsl.axes import discover
from rldsl.axes.base import Estimator
from rldsl.axes.traits import SIBLINGS
from rldsl.compiler.equal_rewards import teaches_alone, teaches_equals
from tests.probing import probe_of, row

PARTLY = {"gigpo", "gigpo_handbook", "optimal_token_baseline", "step_reward"}
"""They compare prompts, places or steps too: siblings of one reward may differ there."""


def comparing():
    for name in discover.names("advantage"):
        cls = discover.find("advantage", name)
        for example in discover.examples("advantage", name) if issubclass(cls, Estimator) else ():
            if SIBLINGS in cls(**example.params).needs:
                yield name, cls(**example.params)


# RL301, RL507
def test_which_estimators_need_differences_between_siblings():
    assert {name for name, choice in comparing() if teaches_equals(choice)} <= PARTLY
    assert {name for name, choice in comparing() if teaches_alone(choice)} < PARTLY
    assert not teaches_equals(discover.find("advantage", "group_norm")())


# RL507
@pytest.mark.parametrize("groups, moved", [("count", True), ("exclude", False)])
def test_a_kl_moves_groups_of_equal_rewards_only_where_they_count(groups, moved):
    rows = [row(1.2, reward=1.0, logp_ref=[-3.0]), row(1.1, reward=1.0, logp_ref=[-3.0]),
            row(1.0, reward=1.0, prompt="q", logp_ref=[-3.0]), row(1.0, reward=0.0, prompt="q", logp_ref=[-3.0])]
    found = probe_of(rows, advantage="group_mean", gate="none + kl(0.1)", sampling="group(2, max_tokens: 8)",
                     reduction=f"token_mean(uniform_groups: {groups})")
    assert all((r["gradient"] != [0.0]) is moved for r in found["responses"][:2])
