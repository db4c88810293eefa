"""`rldsl simulate`: systems side by side, as a table, JSON and a page; a recorded run; and everything that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rldsl.axes.discover import find
from rldsl.cli.main import main
from rldsl.runtime.journal import Journal
from tests.unit.runtime.fakes import plan_of

QUICK = str(Path(__file__).parents[3] / "recipes" / "quickstart.rl")
APART = "disaggregated(rollout: 1, train: 1)"


def told(capsys, *args: str) -> tuple[int, str, str]:
    code = main(["simulate", *args])
    out = capsys.readouterr()
    return code, out.out, out.err


def systems(capsys, *args: str) -> list[dict]:
    code, out, _ = told(capsys, *args, "--format", "json")
    assert code == 0
    return json.loads(out)["simulation"]["systems"]


def test_a_table_with_every_system(capsys):
    code, out, _ = told(capsys, QUICK, "--against", f"windowed(0.5) on {APART}",
                        "--against", "partial(0.5) on colocated")
    rows = [line for line in out.splitlines() if " on " in line and "%" in line]
    assert code == 0 and [row.split("  ")[0] for row in rows] == [
        "sync on colocated", f"windowed(0.5) on {APART}", "partial(0.5) on colocated"]
    assert "of bound" in out and "lognormal(60)" in out


def test_numbers_as_json(capsys):
    one, other = systems(capsys, QUICK, "--latency", "steady(10s)", "--train", "5", "--push", "1", "--batches", "20",
                         "--against", f"one_step_off on {APART}")
    assert one["seconds"] == pytest.approx(16 - 1 / 20) and other["idle_training"] < 1 and one["idle_training"] is None
    assert one["ages"] == {"0": 1.0} and other["oldest"] == 1 and len(one["curve"]) == 21


def test_several_recipes_and_a_page(capsys, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = told(capsys, QUICK, QUICK, "--latency", "pareto(5s, alpha: 1.2)", "--html", str(page))
    assert code == 0 and out.count("quickstart: sync on colocated") == 2
    text = page.read_text()
    assert text.count("<svg") == 4 and "quickstart: sync on colocated" in text and "pareto(5, alpha: 1.2)" in text


def test_an_hour_and_a_seed(capsys):
    (first,) = systems(capsys, QUICK, "--hours", "1", "--slots", "1024", "--seed", "1")
    (second,) = systems(capsys, QUICK, "--hours", "1", "--slots", "1024", "--seed", "2")
    assert first["batches"] >= 5 and first["curve"] != second["curve"]


def recorded(folder: Path, events: list[dict]) -> str:
    with Journal(folder) as journal:
        for event in events:
            journal.append("control", **event)
    return f"{folder}/"


def test_a_recorded_run_gives_latency_training_and_push(capsys, tmp_path):
    run = recorded(tmp_path / "run", [
        {"event": {"kind": "finished", "tokens": 4}, "actions": [], "seconds": 2.0},
        {"event": {"kind": "ready"}, "actions": [{"kind": "train", "groups": [0]}], "seconds": 0},
        {"event": {"kind": "updated"}, "actions": [], "seconds": 3.0},
        {"event": {"kind": "published"}, "actions": [], "seconds": 0.5}])
    (one,) = systems(capsys, QUICK, "--latency", run, "--batches", "10")
    assert one["seconds"] == pytest.approx(2 + 3 * 32 * 8 + 0.5 - 0.05)  # 3 s for the one response that was trained


def test_replaying_a_journal_finds_the_decision_that_differs(capsys, tmp_path):
    start = {"kind": "start", "prompts": 2, "siblings": 1, "batches": 9}
    same = [{"event": start, "actions": [{"kind": "launch", "prompts": 2}], "seconds": 0},
            {"event": {"kind": "finished"}, "actions": [], "seconds": 1}]
    code, out, _ = told(capsys, QUICK, "--replay", recorded(tmp_path / "same", same))
    assert code == 0 and "2 decisions" in out and "0 of them" in out
    other = [{**same[0], "actions": []}, same[1]]
    code, _, err = told(capsys, QUICK, "--replay", recorded(tmp_path / "other", other))
    assert code == 3 and "RL619" in err and "nothing was decided, now launch 2" in err


@pytest.mark.parametrize("args, code, says", [
    (["--train", "-1"], "RL204", "`--train` must be positive"), (["--train", "nan"], "RL204", "positive"),
    (["--push", "-0.5"], "RL204", "not negative"), (["--slots", "0"], "RL204", "at least 1"),
    (["--hours", "inf"], "RL204", "positive"), (["--hours", "1", "--batches", "2"], "RL205", "both say"),
    (["--latency", "pareto(-2s)"], "RL203", "30s"), (["--latency", "pareto(0s)"], "RL204", "greater than 0"),
    (["--latency", "parto(2s)"], "RL201", "pareto"), (["--latency", "pareto("], "RL102", "never closed"),
    (["--latency", "pareto"], "RL205", "minimum"), (["--latency", "nowhere/run"], "RL407", "journal"),
    (["--replay", "nowhere"], "RL407", "journal"),
    (["--latency", "lognormal(60s, sigma: 1000)"], "RL204", "at most 10"),
    (["--latency", "pareto(20s, alpha: 0.001)"], "RL204", "at least 0.1"),
    (["--latency", "lognormal(1e300s)"], "RL204", "1,000 years"),
    (["--hours", "1000000000"], "RL204", "100,000,000"),
    (["--hours", "1", "--slots", "1000000000"], "RL204", "--slots"),
    (["--set", "data.prompts=1000000000"], "RL204", "2,000,000"),
    (["--against", "stream(push_every: 1) on colocated"], "RL313", "same devices"),
    (["--against", "sync"], "RL203", "SCHEDULE on PLACEMENT"),
    (["--against", "sync on colocate"], "RL201", "colocated"),
    (["--html", "/nowhere/x.html"], "RL407", "Cannot write"),
])
def test_what_is_wrong_is_said(capsys, args, code, says):
    status, out, err = told(capsys, QUICK, "--batches", "2", *args) if "--hours" not in args else told(
        capsys, QUICK, *args)
    assert status in (1, 4) and code in err and says in err and "Traceback" not in err + out


def test_a_schedule_that_comes_to_a_stand_is_named(capsys, monkeypatch):
    """`sync` that asks for nothing after its second batch."""
    sync = find("system", "sync")
    honest = sync.decide
    monkeypatch.setattr(sync, "decide", lambda self, state, event: (
        (state, ()) if state["batch"] == 2 and event.kind == "published" else honest(self, state, event)))
    status, out, err = told(capsys, QUICK, "--batches", "5")
    assert status == 3 and "RL604" in err and "after 2 of 5 batches" in err and "sync on colocated" in out


def test_an_embedded_run_has_no_single_responses(capsys, tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("step", step=1, metrics={})
    status, _, err = told(capsys, QUICK, "--latency", f"{tmp_path}/")
    assert status == 4 and "no single responses" in err


def test_a_recipe_without_a_batch_size_or_without_sampling(capsys, tmp_path):
    plan_of(tmp_path)
    file = tmp_path / "fake.rl"
    file.write_text(file.read_text().replace(", prompts: 4", ""))
    status, _, err = told(capsys, str(file))
    assert status == 1 and "RL202" in err and "prompts" in err
    stored = str(Path(QUICK).parent / "algorithms" / "dpo.rl")
    status, _, err = told(capsys, stored, "--set", "data.prompts=4")
    assert status in (1, 4) and "RL406" in err and "stored" in err
