"""Engines that hold equal weights give equal probabilities: before a step is taken, every importance weight is 1."""

from __future__ import annotations

from tests.cluster.engine_process import told

from . import runs


def test_importance_weights_of_equal_weights_are_one(tmp_path):
    """The first token's, to which cut prompts and shifted positions would show, and all others', in float32."""
    file = runs.recipe(tmp_path, steps=1, warm=20)
    found = told("tests.cluster.run.first_token", file, str(tmp_path / "run"), seconds=400.0)
    assert found["rows"] == len(found["first"]) == 256 and len(found["all"]) > 600
    assert max(abs(w - 1) for w in found["first"]) < 1e-3
    assert max(abs(w - 1) for w in found["all"]) < 1e-3
    assert found["surprise"] > 0.1, "probabilities near 1 would agree whatever the engines do"
