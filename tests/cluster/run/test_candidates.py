"""Truncated sampling through the real engines: two tensor ranks train on what vLLM left each token to be chosen from.
"""

from __future__ import annotations

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 3


def test_candidates_are_replayed_through_a_whole_run(tmp_path):
    recipe = runs.recipe(tmp_path, steps=STEPS, cluster="nodes: 1, tensor: 2",
                         distribution="tis(2.0) + replay(candidates)",
                         system="sync on disaggregated(rollout: 1, train: 2)")
    run = tmp_path / "run"
    done = runs.Process(tmp_path, "run", recipe, "--set", "sampling.top_p=0.9", "--out", str(run))
    assert done.wait() == 0, done.said()
    steps = [e.data["metrics"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert len(steps) == STEPS
    assert max(abs(m["kappa/mean"] - 1) for m in steps) < 1e-3
    assert max(m["kappa/log_abs_p99"] for m in steps) < 1e-3
    assert all(m["grad_norm"] > 0 for m in steps)
