"""Runs whose scores other models give, and whose responses a teacher begins; one of the processes is killed."""

from __future__ import annotations

import os
import signal

from rldsl.runtime.journal import kept_events, read_journal

from . import runs
from .test_schedules import require_trained, system

JUDGE = "ray::JudgeActor"
JUDGED = ('feedback=verify(exact) + 0.2 * judge(rubric: ["{prompt}{response} right?"]) + 0.1 * reward_model '
          '+ 0.1 * self_judge(rubric: ["{response}?"], weights: current)',
          'model.judge="toy:llama-1x16"', 'model.reward="toy:llama-1x16"', "model.judge_warm_start=3")
BEGUN = ("sampling=group(4, max_tokens: 6) | prefix(tokens: 2)", 'model.teachers=["toy:llama-1x128"]',
         "model.teacher_warm_start=3")


def started(folder, run, sets, **recipe):
    file = runs.recipe(folder, warm=20, **recipe)
    words = [word for each in (*sets, "data.prompts=8") for word in ("--set", each)]
    return runs.Process(folder, "run", file, *words, "--out", str(run))


def test_a_run_that_never_stops_sampling_asks_judges_and_outlives_one(tmp_path):
    steps, run = 10, tmp_path / "run"
    going = started(tmp_path, run, JUDGED, steps=steps, cluster="nodes: 1, judge: 2",
                    system=system("stream(push_every: 2)", 1))
    going.until_step(run, 3)
    os.kill(going.processes(JUDGE)[0], signal.SIGKILL)
    assert going.wait() == 0, going.said()
    require_trained(run, steps)
    assert going.said().count("warning RL605: judge ") == going.said().count("warning RL605") == 1
    events = list(kept_events(read_journal(run)))
    kept = [e.data["metrics"] for e in events if e.kind == "step"]
    assert all(m["responses/unscored"] == 0 and m["reward/mean"] != 0 for m in kept)
    assert all(e.data["metrics"]["memory/judge"] > 50 for e in events if e.kind == "system")
    assert {f.name for f in (run / "judges").iterdir()} == {"judge.pt", "reward.pt"}
    assert going.gone()


def test_a_teacher_begins_responses(tmp_path):
    """Its tokens are context: responses are counted without them."""
    run = tmp_path / "run"
    going = started(tmp_path, run, BEGUN, steps=2)
    assert going.wait() == 0, going.said()
    runs.require_exactly_once(run, 2, prompts=8)
    kept = [e.data["metrics"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert all(m["responses/length"] <= 4.0 + 1e-9 for m in kept), "two of six tokens are the teacher's"
    assert going.gone()
