"""`rldsl run` through Ray, vLLM and Megatron: it learns; what dies is replaced, or the run is resumed."""

from __future__ import annotations

import os
import signal
import time

import pytest

from rldsl.runtime.journal import kept_events, read_journal

from . import runs


def metrics(run, name):
    return [e.data["metrics"][name] for e in kept_events(read_journal(run)) if name in e.data.get("metrics", {})]


def test_a_policy_learns_through_the_real_engines(tmp_path):
    run = tmp_path / "run"
    done = runs.Process(tmp_path, "run", runs.recipe(tmp_path, steps=30), "--out", str(run))
    assert done.wait() == 0, done.said()
    first, *_, last = metrics(run, "held_out/score")
    assert last > first + 0.08, (first, last)
    assert max(abs(k - 1) for k in metrics(run, "kappa/mean")) < 1e-3
    runs.require_exactly_once(run, 30)
    pushes = [e.data for e in read_journal(run) if e.kind == "push"]
    assert [p["version"] for p in pushes] == list(range(31))
    assert all(p["bytes"] > 10**6 and p["seconds"] > 0 for p in pushes)
    assert done.processes() == []


def test_a_run_outlives_its_engine_its_ranks_and_its_driver(tmp_path):
    """Killed one after another; every prompt is trained once, and the numbers are those of a quiet run."""
    run, quiet = tmp_path / "run", tmp_path / "quiet"
    file = runs.recipe(tmp_path, steps=14, warm=60)
    plain = runs.Process(tmp_path, "run", file, "--out", str(quiet))
    assert plain.wait() == 0, plain.said()
    going = runs.Process(tmp_path, "run", file, "--out", str(run))
    going.until_step(run, 3)
    os.kill(going.processes("ray::RolloutActor")[0], signal.SIGKILL)
    going.until_step(run, 6)
    os.kill(going.processes("ray::RankActor")[0], signal.SIGKILL)
    going.until_step(run, 10)
    going.inner.kill()
    going.wait()
    until = time.monotonic() + 30
    while going.processes() and time.monotonic() < until:
        time.sleep(0.2)
    assert going.processes() == [], "a cluster that nobody uses any more"
    assert "warning RL605: rollout engine 0 died" in going.said()
    assert "warning RL605: trainer rank 0 died" in going.said()
    resumed = runs.Process(tmp_path, "resume", str(run))
    assert resumed.wait() == 0, resumed.said()
    runs.require_exactly_once(run, 14)
    assert metrics(run, "reward/mean") == pytest.approx(metrics(quiet, "reward/mean"))
