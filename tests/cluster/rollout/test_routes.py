"""The experts and the candidates that come with a response are those of the weights that each of its tokens was
sampled with."""

from __future__ import annotations

import pytest

from tests.cluster.engine_process import told


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return told("tests.cluster.rollout.routed", str(tmp_path_factory.mktemp("model") / "model"))


@pytest.mark.parametrize("resume", ["reprefill", "keep_state"])
def test_experts_are_recorded_and_spliced_over_weight_versions(seen, resume):
    """C-058: every computed token has its own experts, also where the later ones are computed over keys and values of
    the old weights."""
    found = seen[resume]
    assert found["rows"] == 6 and found["versions"] == [0, 1]
    assert found["whole"] and found["before"] and found["after"]
    assert not found["other"], "the two versions must route differently for this to say anything"


@pytest.mark.parametrize("resume", ["reprefill", "keep_state"])
def test_candidates_are_recorded_and_spliced_over_weight_versions(seen, resume):
    """Each token has the ids that top_k and top_p left, and its log-prob is the one over them."""
    found = seen[resume]
    assert found["sizes"] > 5 and found["gap"] < 1e-4
    assert found["sets"] > 0.99, "a token at the very edge may fall either way"
