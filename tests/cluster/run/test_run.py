"""`rldsl run` through Ray, vLLM and Megatron: it learns; what dies is replaced, or the run is resumed."""

from __future__ import annotations

import os
import signal

import pytest

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 40


def metrics(run, name):
    return [e.data["metrics"][name] for e in kept_events(read_journal(run)) if name in e.data.get("metrics", {})]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """A run that nothing happens to."""
    folder = tmp_path_factory.mktemp("quiet")
    done = runs.Process(folder, "run", runs.recipe(folder, steps=STEPS), "--out", str(folder / "run"))
    assert done.wait() == 0, done.said()
    assert done.gone()
    return folder / "run"


def test_a_policy_learns_through_the_real_engines(quiet):
    first, *_, last = metrics(quiet, "held_out/score")
    assert metrics(quiet, "held_out/untrained")[0] < first
    assert last > first + 0.1, (first, last)
    runs.require_exactly_once(quiet, STEPS)


def test_two_engines_agree_on_every_token(quiet):
    """κ of equal weights, sampled by vLLM and recomputed by Megatron in float32."""
    assert len(metrics(quiet, "kappa/mean")) == STEPS
    assert max(abs(k - 1) for k in metrics(quiet, "kappa/mean")) < 1e-3
    assert max(metrics(quiet, "kappa/log_abs_p99")) < 1e-3


def test_every_push_is_in_the_journal(quiet):
    pushes = [e.data for e in read_journal(quiet) if e.kind == "push"]
    assert [p["version"] for p in pushes] == [0, *range(STEPS + 1)], "untrained, warm-started, trained"
    assert all(p["bytes"] > 10**6 and p["seconds"] > 0 for p in pushes)


def test_the_memory_of_every_role_is_in_the_journal(quiet):
    """C-077."""
    found = [e.data["metrics"] for e in read_journal(quiet) if e.kind == "system"]
    for name in ("system/memory_megabytes", "memory/rollout", "memory/train"):
        assert all(50 < m[name] < 10**5 for m in found if name in m) and any(name in m for m in found), name


def test_a_run_outlives_its_engine_its_ranks_and_its_driver(quiet, tmp_path):
    """C-033, C-037. Killed one after another: every prompt is trained once, the numbers are the quiet run's."""
    run = tmp_path / "run"
    going = runs.Process(tmp_path, "run", runs.recipe(tmp_path, steps=STEPS), "--out", str(run))
    going.until_step(run, 3)
    os.kill(going.processes("ray::RolloutActor")[0], signal.SIGKILL)
    going.until_step(run, 6)
    os.kill(going.processes("ray::RankActor")[0], signal.SIGKILL)
    going.until_step(run, 10)
    going.inner.kill()
    going.wait()
    ours = ("ray::RolloutActor", "ray::RankActor")  # Ray's own RuntimeEnvAgent begins alike and takes a minute
    assert all(going.gone(kind, 30) for kind in ours), "engines and ranks outlive their driver"
    assert "warning RL605: rollout engine 0 died" in going.said()
    assert "warning RL605: trainer rank 0 died" in going.said()
    resumed = runs.Process(tmp_path, "resume", str(run))
    assert resumed.wait() == 0, resumed.said()
    runs.require_exactly_once(run, STEPS)
    assert going.gone() and resumed.gone()
    assert metrics(run, "reward/mean") == pytest.approx(metrics(quiet, "reward/mean"))
