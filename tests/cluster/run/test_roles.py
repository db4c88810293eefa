"""A run whose reference, critic and two teachers have ranks of their own, and lose some of them."""

from __future__ import annotations

import os
import signal

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 10
SETS = ("feedback=verify(exact) + 0.1 * teacher", "advantage=gae", "critic=adamw(lr: 1e-3)",
        "gate=clip(0.2) + kl(0.01)", 'model.teachers=["toy:llama-1x128", "toy:llama-2x128"]', "model.teaching=mean",
        "model.teacher_warm_start=10", "data.prompts=8")
FROZEN, CRITIC = "ray::FrozenRankActor", "ray::CriticRankActor"


def test_a_run_outlives_ranks_of_frozen_models_and_of_the_critic(tmp_path):
    run, file = tmp_path / "run", runs.recipe(
        tmp_path, steps=STEPS, warm=20, cluster="nodes: 1, reference: 1, critic: 1, teacher: 1")
    sets = [word for each in SETS for word in ("--set", each)]
    going = runs.Process(tmp_path, "run", file, *sets, "--out", str(run))
    going.until_step(run, 3)
    frozen = going.processes(FROZEN)
    assert len(frozen) == 3, "the reference and two teachers"
    os.kill(frozen[0], signal.SIGKILL)
    going.until_step(run, 6)
    os.kill(going.processes(CRITIC)[0], signal.SIGKILL)
    assert going.wait() == 0, going.said()
    said = going.said()
    assert sum(f"warning RL605: {who} rank 0 died" in said for who in ("reference", "teacher-1", "teacher-2")) == 1
    assert "warning RL605: critic rank 0 died" in said
    runs.require_exactly_once(run, STEPS, prompts=8)
    kept = [e.data["metrics"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert all(m["objective/kl"] <= 0 and m["critic/value_loss"] > 0 for m in kept) and kept[-1]["objective/kl"] < 0
    assert going.gone()
