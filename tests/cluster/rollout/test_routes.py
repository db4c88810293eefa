"""The experts that come with a response are those of the weights that each of its tokens was sampled with."""

from __future__ import annotations

from tests.cluster.engine_process import told


def test_experts_are_recorded_and_spliced_over_weight_versions(tmp_path):
    """C-058: every computed token has its own experts."""
    found = told("tests.cluster.rollout.routed", str(tmp_path / "model"))
    assert found["rows"] == 6 and found["versions"] == [0, 1]
    assert found["whole"] and found["before"] and found["after"]
    assert not found["other"], "the two versions must route differently for this to say anything"
