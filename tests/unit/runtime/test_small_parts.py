"""Ledger, checkpoints, learning rates, prompts, tallies: each on its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.axes.control import Action, Event, Schedule
from rldsl.diagnostics import RecipeError
from rldsl.runtime import checkpoint
from rldsl.runtime.control import Terms, follow
from rldsl.runtime.errors import RunError
from rldsl.runtime.journal import Journal, kept_events, read_journal
from rldsl.runtime.ledger import Ledger
from rldsl.runtime.prompts import prompts
from rldsl.runtime.run import Settings
from rldsl.runtime.stages_train import lr_factor
from rldsl.runtime.tally import Tally

from .fakes import FakeProblem


def test_a_ledger_draws_every_row_once_in_an_epoch() -> None:
    ledger, drawn = Ledger(10, 7), []
    for count in (4, 4, 4, 4, 4):
        ledger, draws = ledger.take(count)
        drawn += draws
    assert sorted(d.row for d in drawn[:10]) == list(range(10)) == sorted(d.row for d in drawn[10:])
    assert [d.epoch for d in drawn] == [0] * 10 + [1] * 10
    assert [d.row for d in drawn[:10]] != [d.row for d in drawn[10:]]


def test_returned_prompts_come_first_and_survive_a_checkpoint() -> None:
    ledger, draws = Ledger(10, 7).take(4)
    ledger = Ledger.from_json(json.loads(json.dumps(ledger.give_back(draws[2:]).to_json())))
    ledger, again = ledger.take(3)
    assert again[:2] == draws[2:] and again[2] == Ledger(10, 7).take(5)[1][4]


def write(text: str):
    return lambda folder: (folder / "weights").write_text(text)


def test_only_the_newest_checkpoints_stay_and_a_pinned_one(tmp_path) -> None:
    for step in (0, 2, 4, 6):
        checkpoint.save(tmp_path, step, {"n": step}, write("w"), pinned=0)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["batch-000000", "batch-000004", "batch-000006"]
    found = checkpoint.newest(tmp_path)
    assert (found.step, found.state, found.skipped) == (6, {"n": 6}, ())


@pytest.mark.parametrize("damage, says", [
    (lambda f: (f / "weights").write_text("x"), "weights is not what was written"),
    (lambda f: (f / "weights").unlink(), "weights is missing"),
    (lambda f: (f / "manifest.json").write_text('{"format": 1'), "manifest.json cannot be read"),
    (lambda f: (f / "manifest.json").unlink(), "manifest.json cannot be read"),
    (lambda f: (f / "manifest.json").write_text((f / "manifest.json").read_text().replace('"n": 4', '"n": 5')),
     "does not agree with itself"),
])
def test_a_damaged_checkpoint_is_passed_over_by_name(tmp_path, damage, says: str) -> None:
    for step in (2, 4):
        checkpoint.save(tmp_path, step, {"n": step}, write("weights"))
    damage(tmp_path / "batch-000004")
    found = checkpoint.newest(tmp_path)
    assert found.step == 2
    assert found.skipped[0][0] == "batch-000004" and says in found.skipped[0][1]


def test_no_complete_checkpoint_is_an_error_and_none_at_all_is_not(tmp_path) -> None:
    assert checkpoint.newest(tmp_path) is None
    checkpoint.save(tmp_path, 2, {}, write("w"))
    (tmp_path / "batch-000002" / "weights").unlink()
    with pytest.raises(RunError) as caught:
        checkpoint.newest(tmp_path)
    assert caught.value.diagnostic.code == "RL609" and "weights is missing" in caught.value.diagnostic.why


def test_a_full_disk_leaves_the_older_checkpoint(tmp_path) -> None:
    def full(folder):
        (folder / "weights").write_text("half")
        raise OSError(28, "No space left on device")

    checkpoint.save(tmp_path, 2, {}, write("w"))
    with pytest.raises(RunError) as caught:
        checkpoint.save(tmp_path, 4, {}, full)
    assert caught.value.diagnostic.code == "RL612" and "No space left" in caught.value.diagnostic.message
    assert checkpoint.newest(tmp_path).step == 2
    checkpoint.save(tmp_path, 4, {}, write("w"))
    assert checkpoint.newest(tmp_path).step == 4


@pytest.mark.parametrize("kind, warmup, expected", [
    ("constant", 0, [1, 1, 1, 1]), ("constant", 2, [0.5, 1, 1, 1]), ("linear", 0, [1, 0.75, 0.5, 0.25]),
    ("cosine", 0, [1, 0.853553, 0.5, 0.146447]), ("linear", 2, [0.5, 1, 1, 0.5]),
])
def test_learning_rates(kind: str, warmup: int, expected: list[float]) -> None:
    settings = Settings(4, 4, 1.0, kind, warmup, 0, 0)
    assert [lr_factor(settings, b) for b in range(4)] == pytest.approx(expected, abs=1e-6)


def test_long_prompts_are_counted_before_anything_starts() -> None:
    problems = [FakeProblem("x" * n) for n in (3, 600, 5, 700)]
    with pytest.raises(RecipeError, match="RL408 2 of 4 prompts of data are longer than 512 tokens"):
        prompts(problems, tuple, 512, "error", "data")
    kept = prompts(problems, tuple, 512, "drop", "data")
    assert (len(kept), kept.dropped, kept.problem(1).prompt) == (2, 2, "x" * 5)
    with pytest.raises(RecipeError, match="has no prompt of at most 2 tokens"):
        prompts(problems, tuple, 2, "drop", "data")


def test_means_of_pieces_are_the_mean_of_the_whole() -> None:
    one, two = Tally(), Tally()
    one.add("x", 10.0, 100)
    two.add("x", 1.0, 1)
    two.add("never", 0.0, 0)
    one.include(two)
    assert one.means() == {"x": 11 / 101}


class Ping(Schedule):
    """One batch after another, and its state counts events."""

    def decide(self, state, event):
        kinds = {"start": "launch", "ready": "train", "updated": "publish"}
        actions = () if event.kind == "published" else (Action(kinds[event.kind], prompts=1),)
        return {**state, "n": state.get("n", 0) + 1}, actions


def test_the_loop_follows_the_schedule_and_remembers_its_state() -> None:
    done, states = [], []

    def then(kind):
        return lambda action: done.append(action.kind) or [Event(kind)]

    follow(Ping(), Terms(1, 1, 9).start(3), {"launch": then("ready"), "train": then("updated"),
                                             "publish": then("published")}, states.append)
    assert done == ["launch", "train", "publish"]
    assert [s["n"] for s in states] == [1, 2, 3, 4] and states[-1]["batch"] == 4


@pytest.mark.parametrize("point", range(20))
def test_a_kill_while_saving_leaves_a_checkpoint_to_go_on_from(tmp_path, monkeypatch, point: int) -> None:
    """Dies (as SIGKILL would: nothing runs after it) in the point-th of the steps that touch the disk."""
    checkpoint.save(tmp_path, 2, {"n": 2}, write("old"))
    checkpoint.save(tmp_path, 4, {"n": 4}, write("old"))
    left = point

    def dying(original):
        def call(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return original(*args, **kwargs)
        return call

    for owner, name in ((checkpoint.os, "fsync"), (checkpoint.shutil, "rmtree"), (Path, "mkdir"), (Path, "rename"),
                        (Path, "write_text"), (checkpoint, "_described")):
        monkeypatch.setattr(owner, name, dying(getattr(owner, name)))
    try:
        checkpoint.save(tmp_path, 6, {"n": 6}, write("new"))
    except KeyboardInterrupt:
        pass
    monkeypatch.undo()
    found = checkpoint.newest(tmp_path)
    assert found.step in (4, 6) and found.state == {"n": found.step} and not found.skipped
    checkpoint.save(tmp_path, 8, {"n": 8}, write("next"))
    assert checkpoint.newest(tmp_path).step == 8


def test_a_restart_from_the_beginning_takes_back_all_but_the_start(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("start", name="r")
        journal.append("evaluate", step=0, metrics={"held_out/score": 0.1})
        journal.append("step", step=1, metrics={})
        journal.append("end", status="KILLED")
        journal.append("resume", step=-1)
        journal.append("evaluate", step=0, metrics={"held_out/score": 0.1})
    assert [e.kind for e in kept_events(read_journal(tmp_path))] == ["start", "resume", "evaluate"]
