"""A schedule that samples while it trains, through deaths; and the end of a run that is told to end."""

from __future__ import annotations

import os
import signal

from rldsl.compiler.resolve.alone import system_alone
from rldsl.runtime.control import replay
from rldsl.runtime.journal import kept_events, read_journal
from rldsl.runtime.simulation.trace import controls

from . import runs


def system(schedule, engines):
    return f"{schedule} on disaggregated(rollout: {engines}, train: 1)"


def require_trained(run, steps):
    kept = [e for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert [e.data["step"] for e in kept] == list(range(1, steps + 1))
    drawn = [tuple(p[:2]) for e in kept for p in e.data["prompts"]]
    assert drawn and len(drawn) == len(set(drawn)), "a prompt was trained twice"
    assert any(e.data["metrics"].get("grad_norm", 0) > 0 for e in kept)
    assert [e.data["version"] for e in read_journal(run) if e.kind == "push"][-1] == steps


def test_a_run_that_never_stops_sampling_outlives_an_engine_and_a_rank(tmp_path):
    """C-033. C-037: what was in flight is trained once."""
    steps, run = 16, tmp_path / "run"
    file = runs.recipe(tmp_path, steps=steps, warm=80, system=system("stream(push_every: 2)", 2))
    going = runs.Process(tmp_path, "run", file, "--out", str(run))
    going.until_step(run, 3)
    os.kill(going.processes("ray::RolloutActor")[0], signal.SIGKILL)
    going.until_step(run, 6)
    os.kill(going.processes("ray::RankActor")[0], signal.SIGKILL)
    assert going.wait() == 0, going.said()
    require_trained(run, steps)
    assert going.said().count("warning RL605") == 2
    schedule = system_alone(system("stream(push_every: 2)", 2), "system")[0].choice
    assert not list(replay(schedule, controls(run))), "a replay of the journal decides otherwise"


def test_a_run_that_serves_two_versions_stops_nothing_and_outlives_an_engine(tmp_path):
    """C-033; held-out problems are answered beside what is in flight."""
    steps, run = 12, tmp_path / "run"
    place = "disaggregated(rollout: 1, train: 1, versions: 2)"
    file = runs.recipe(tmp_path, steps=steps, warm=80, system=f"stream(push_every: 2) on {place}",
                       distribution="tis(2.0) + max_lag(8)")
    going = runs.Process(tmp_path, "run", file, "--out", str(run), "--set", f"evaluate.every={steps // 2}")
    going.until_step(run, 4)
    os.kill(going.processes("ray::RolloutActor")[1], signal.SIGKILL)
    assert going.wait() == 0, going.said()
    require_trained(run, steps)
    kept = list(kept_events(read_journal(run)))
    assert [e.data["step"] for e in kept if e.kind == "evaluate"][-2:] == [steps // 2, steps]
    heard = [e.data for e in kept if e.kind == "control"]
    assert not any(a["kind"] in ("pause", "resume") for h in heard for a in h["actions"])
    assert not any(e.data["metrics"].get("responses/cut") for e in kept if e.kind == "step")
    schedule = system_alone(f"stream(push_every: 2) on {place}", "system")[0].choice
    assert not list(replay(schedule, controls(run))), "a replay of the journal decides otherwise"


def test_an_interrupted_run_says_so_and_leaves_nothing(tmp_path):
    run, file = tmp_path / "run", runs.recipe(tmp_path, steps=400, warm=20)
    going = runs.Process(tmp_path, "run", file, "--out", str(run))
    going.until_step(run, 2)
    going.inner.terminate()
    assert going.wait() == 3
    assert "rldsl resume" in going.said() and "SIGTERM" not in going.said()
    assert [e.data["status"] for e in read_journal(run) if e.kind == "end"] == ["KILLED"]
    assert going.gone()
