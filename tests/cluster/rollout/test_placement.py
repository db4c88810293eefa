"""A placement that the cluster cannot hold is refused within seconds, with both numbers."""

from __future__ import annotations

import time

import pytest

from rldsl.backends.cluster.placement import reserve
from rldsl.compiler.roles import Role
from rldsl.runtime.errors import RunError


def refused(*wanted, seconds=10.0):
    begun = time.monotonic()
    with pytest.raises(RunError, match="RL606") as caught:
        reserve(wanted, seconds)
    assert time.monotonic() - begun < 8
    return caught.value.diagnostic


def test_more_processes_than_there_can_ever_be(cluster):
    """C-009: the role is named, and nothing is started."""
    said = refused(Role("rollout", 5), Role("train", 4))
    assert "5 × 1 CPU (rollout) + 4 × 1 CPU (train) = 9 CPU" in said.message and "6 CPU" in said.message


def test_gpus_that_are_not_there(cluster):
    said = refused(Role("rollout", 2, 1.0), Role("train", 2))
    assert "2 GPU" in said.message and "0 GPU" in said.message and "no node has 1 GPU" in said.why


def test_what_others_hold(cluster):
    from ray.util.placement_group import remove_placement_group

    held = reserve((Role("rollout", 4),))
    said = refused(Role("rollout", 4), seconds=2.0)
    assert "was not free within 2 s" in said.message
    remove_placement_group(held.group)
    again = reserve((Role("rollout", 4),))
    assert again.gpus("rollout") == 0
    remove_placement_group(again.group)
