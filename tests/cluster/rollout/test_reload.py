"""After a reload an engine samples from the new weights exactly, whatever it packed, stacked or tied of the old."""

from __future__ import annotations

import pytest

from tests.cluster.engine_process import told


@pytest.mark.parametrize("kind", ["llama", "tied", "bias", "moe"])
def test_reloaded_weights_are_the_ones_that_sample(kind, tmp_path):
    """C-093: a tied head follows its embedding; cached prompts of the old weights are forgotten."""
    found = told("tests.cluster.rollout.reloads", kind, str(tmp_path / "model"))
    assert max(found["before"], found["after"], found["back"]) < 1e-4
    assert found["apart"] > 1, "the two models must differ for this to say anything"
    assert found["proved"] and found["again"] and found["refused"] is None
    assert found["versions"] == [1] and found["tokens"] > 100
