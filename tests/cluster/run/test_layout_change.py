"""A run that goes on in another layout of its trainer: the weights, moments and prompts are those that it had."""

from __future__ import annotations

import time

import torch
from safetensors.torch import load_file

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 5


def test_a_killed_run_goes_on_in_another_layout(tmp_path):
    """Tensor-parallel to data-parallel. A checkpoint of the new layout is there before the first step, for ranks that
    die."""
    run, file = tmp_path / "run", runs.recipe(tmp_path, steps=STEPS, warm=70, cluster="nodes: 1, tensor: 2",
                                              system="sync on disaggregated(rollout: 1, train: 2)")
    going = runs.Process(tmp_path, "run", file, "--out", str(run))
    going.until_step(run, 3)
    going.inner.kill()
    going.wait()
    assert all(going.gone(kind, 30) for kind in ("ray::RolloutActor", "ray::RankActor"))
    newest = max((run / "checkpoints").glob("batch-*"))
    before = load_file(newest / "policy.safetensors")
    resumed = runs.Process(tmp_path, "resume", str(run), "--set", "cluster.tensor=1")
    after = until_checkpoint(resumed, run)
    layouts = [(after[0].data[when]["policy"]["tensor"], after[0].data[when]["policy"]["data"])
               for when in ("before", "now")]
    assert layouts == [(2, 1), (1, 2)]
    again = load_file(newest / "policy.safetensors")
    assert all(torch.equal(before[name], again[name]) for name in before)
    assert len(list(newest.glob("policy.rank-*.pt"))) == 2
    assert resumed.wait() == 0, resumed.said()
    assert not (run / "relaid").exists()
    runs.require_exactly_once(run, STEPS)
    kappa = [e.data["metrics"]["kappa/mean"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert max(abs(k - 1) for k in kappa) < 1e-3


def until_checkpoint(process, run, seconds=300.0):
    """The events from the change of layout on, once there is a checkpoint among them."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert process.inner.poll() is None, process.said()
        every = list(read_journal(run))
        start = next((i for i, e in enumerate(every) if e.kind == "layout"), len(every))
        if any(e.kind == "checkpoint" for e in every[start:]):
            return every[start:]
        time.sleep(0.05)
    raise AssertionError(f"no checkpoint: {process.said()}")
