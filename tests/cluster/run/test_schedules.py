"""Schedules that sample while they train, or cut responses, through the real engines."""

from __future__ import annotations

import pytest

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 8


@pytest.mark.parametrize("schedule, engines", [("partial(0.5)", 1), ("stream(push_every: 2)", 2), ("windowed(0.3)", 1)],
                         ids=lambda x: str(x).partition("(")[0])
def test_a_schedule_trains_through_the_real_engines(schedule, engines, tmp_path):
    run = tmp_path / "run"
    file = runs.recipe(tmp_path, steps=STEPS, warm=80,
                       system=f"{schedule} on disaggregated(rollout: {engines}, train: 1)")
    done = runs.Process(tmp_path, "run", file, "--out", str(run))
    assert done.wait() == 0, done.said()
    kept = [e for e in kept_events(read_journal(run)) if e.kind == "step"]
    assert [e.data["step"] for e in kept] == list(range(1, STEPS + 1))
    drawn = [tuple(p[:2]) for e in kept for p in e.data["prompts"]]
    assert drawn and len(drawn) == len(set(drawn)), "a prompt was trained twice"
    assert any(e.data["metrics"].get("grad_norm", 0) > 0 for e in kept)
    pushed = [e.data["version"] for e in read_journal(run) if e.kind == "push"]
    assert pushed == sorted(pushed) and pushed[-1] == STEPS
