"""A run whose scorers are actors: one is killed while it scores, one hangs; every prompt is trained once."""

from __future__ import annotations

import os
import signal

from rldsl.runtime.journal import kept_events, read_journal

from . import runs

STEPS = 8
SLOW = '''import pathlib
import time


def score(text, answer, metadata):
    """Right or wrong, slowly; whoever finds a file to take away never answers."""
    time.sleep(0.01)
    try:
        pathlib.Path(__file__).with_name("hang").unlink()
    except FileNotFoundError:
        return float(text.strip() == answer)
    time.sleep(1e6)
'''


def test_scorers_on_actors_are_killed_and_hang_and_cost_a_row_each(tmp_path):
    """C-033, C-074: the row that a killed scorer had in hand, and the one that never ended."""
    run, hang = tmp_path / "run", tmp_path / "hang"
    (tmp_path / "slow.py").write_text(SLOW)
    file = runs.recipe(tmp_path, steps=STEPS, warm=40, cluster="nodes: 1, reward: 2")
    (tmp_path / "rldsl.toml").write_text('trust = ["slow"]\n')
    going = runs.Process(tmp_path, "run", file, "--set", 'feedback=python("slow:score", correctness: true)',
                         "--set", "feedback.timeout=8s", "--out", str(run))
    going.until_step(run, 2)
    os.kill(going.processes("ray::RewardActor")[0], signal.SIGKILL)
    going.until_step(run, 4)
    hang.touch()
    assert going.wait() == 0, going.said()
    assert not hang.exists()
    runs.require_exactly_once(run, STEPS)
    steps = [e.data["metrics"] for e in kept_events(read_journal(run)) if e.kind == "step"]
    lost = [round(256 * m["responses/unscored"]) for m in steps]
    assert sum(lost) in (1, 2), "the one that hung, and the one in hand at the kill, if there was one"
    assert max(m["seconds/score"] for m in steps) < 60
    assert going.gone()
