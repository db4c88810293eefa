"""A run whose reference, critic and two teachers have ranks of their own, and lose them."""

from __future__ import annotations

import os
import signal

import pytest

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 12
ROLES = {"feedback": "verify(exact) + 0.1 * teacher", "advantage": "gae", "critic": "adamw(lr: 1e-3)",
         "gate": "clip(0.2) + kl(0.01)", "model.teachers": '["toy:llama-1x128", "toy:llama-2x128"]',
         "model.teaching": "mean", "model.teacher_warm_start": "10", "data.prompts": "8", "optim.updates_per_batch": "1"}
FROZEN, CRITIC = "ray::FrozenRankActor", "ray::CriticRankActor"


def begun(folder, cluster):
    file = runs.recipe(folder, steps=STEPS, warm=20, cluster=f"nodes: 1{cluster}")
    sets = [word for path, value in ROLES.items() for word in ("--set", f"{path}={value}")]
    return runs.Process(folder, "run", file, *sets, "--out", str(folder / "run"))


def metrics(run):
    """{metric: its numbers} of what each role gives, and of what comes of it."""
    kept = [e.data["metrics"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    names = ("reward/mean", "critic/value_loss", "critic/grad_norm", "grad_norm", "objective/kl")
    return {name: [m[name] for m in kept] for name in names}


def test_roles_apart_give_the_run_of_roles_together_and_outlive_their_ranks(tmp_path):
    (tmp_path / "together").mkdir()
    together = begun(tmp_path / "together", "")
    assert together.wait() == 0, together.said()
    (tmp_path / "apart").mkdir()
    run, apart = tmp_path / "apart" / "run", begun(tmp_path / "apart", ", reference: 1, critic: 1, teacher: 1")
    apart.until_step(run, 3)
    frozen = apart.processes(FROZEN)
    assert len(frozen) == 3, "the reference and two teachers"
    for number in frozen:
        os.kill(number, signal.SIGKILL)
    apart.until_step(run, 6)
    os.kill(apart.processes(CRITIC)[0], signal.SIGKILL)
    assert apart.wait() == 0, apart.said()
    for who in ("reference", "teacher-1", "teacher-2", "critic"):
        assert f"warning RL605: {who} rank 0 died" in apart.said()
    runs.require_exactly_once(run, STEPS, prompts=8)
    for name, numbers in metrics(tmp_path / "together" / "run").items():
        assert metrics(run)[name] == pytest.approx(numbers, rel=1e-3, abs=1e-5), name
    assert apart.gone()
