"""`resume: keep_state`: what a stopped stream goes on from, what it says of that, and what others see of it."""

from __future__ import annotations

import pytest

from tests.cluster.engine_process import told


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return told("tests.cluster.rollout.keeping", str(tmp_path_factory.mktemp("model") / "model"))


def test_log_probs_are_those_of_new_weights_over_old_keys_and_values(seen):
    found = seen["kept"]
    assert found["proved"] and found["rows"] >= 4 and all(n == 7 for n in found["held"])
    for versions in found["versions"]:
        assert versions[:7] == [0] * 7 and set(versions[7:]) == {1}
    assert found["exact"] < 1e-4


def test_they_are_those_of_no_single_model(seen):
    """What `reprefill` would have given."""
    assert seen["kept"]["new alone"] > 0.5


def test_others_are_sampled_by_the_new_weights_alone(seen):
    """The same prompts, while the stopped streams stand still and hold their blocks, and afterwards."""
    assert not seen["kept"]["busy"]
    assert seen["kept"]["others"] < 1e-4 and seen["kept"]["again"] < 1e-4


def test_state_is_given_up_where_others_find_no_room(seen):
    found = seen["given up"]
    assert 0 <= found["left"] < found["before"] and found["all"] == 24 and found["others"] < 1e-4
    assert found["ended"] == found["held"] and found["after"] == 0
