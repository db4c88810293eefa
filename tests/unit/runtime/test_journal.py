"""The journal: append-only, numbered, and none the worse for a kill in the middle of a line."""

import json
import math
import subprocess
import sys
from itertools import pairwise

import pytest

from rldsl.runtime.errors import RunError
from rldsl.runtime.journal import FILE, Journal, kept_events, read_from, read_journal


def test_events_come_back_in_order_and_numbered(tmp_path):
    with Journal(tmp_path / "run") as journal:
        assert [journal.append("step", step=i, metrics={"reward": i / 2}) for i in range(3)] == [0, 1, 2]
    events = list(read_journal(tmp_path / "run"))
    assert [(e.seq, e.kind, e.data["metrics"]["reward"]) for e in events] == [
        (0, "step", 0.0), (1, "step", 0.5), (2, "step", 1.0)]
    assert all(later.time >= earlier.time for earlier, later in pairwise(events))


def test_numbers_go_on_after_reopening(tmp_path):
    for _ in range(3):
        with Journal(tmp_path) as journal:
            journal.append("step", step=1)
    assert [e.seq for e in read_journal(tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize("torn", [b'{"seq": 1, "ti', b"\x00" * 100_000,
                                  b'{"seq": 1, "time": 0, "kind": "x", "data": {}}'])
def test_a_torn_last_line_is_dropped_by_readers_and_cut_by_the_writer(tmp_path, torn):
    with Journal(tmp_path) as journal:
        journal.append("step", step=1)
    with (tmp_path / FILE).open("ab") as file:
        file.write(torn)
    assert [e.seq for e in read_journal(tmp_path)] == [0]
    with Journal(tmp_path) as journal:
        assert journal.append("step", step=2) == 1
    assert [e.seq for e in read_journal(tmp_path)] == [0, 1]


@pytest.mark.parametrize("line", ["oops", "[1]", '{"seq": 1}', "\x00"])
def test_a_damaged_line_in_the_middle_is_an_error(tmp_path, line):
    with Journal(tmp_path) as journal:
        journal.append("a")
    with (tmp_path / FILE).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(RunError) as caught:
        list(read_journal(tmp_path))
    assert caught.value.diagnostic.code == "RL609"


def test_an_event_is_in_the_file_before_append_returns(tmp_path):
    code = ("from pathlib import Path; from rldsl.runtime.journal import Journal; import os\n"
            f"journal = Journal(Path({str(tmp_path)!r})); journal.append('step', step=1)\n"
            "os.kill(os.getpid(), 9)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert [e.data["step"] for e in read_journal(tmp_path)] == [1]


def test_numbers_that_are_not_finite_and_odd_text_survive(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("step", metrics={"loss": math.nan, "reward": -math.inf}, text="\ud800 é\u2028")
    (event,) = read_journal(tmp_path)
    assert math.isnan(event.data["metrics"]["loss"]) and event.data["metrics"]["reward"] == -math.inf
    assert event.data["text"] == "\ud800 é\u2028"


def test_reading_goes_on_where_it_stopped(tmp_path):
    journal = Journal(tmp_path)
    journal.append("a")
    (_, offset), = read_from(tmp_path, 0)
    assert list(read_from(tmp_path, offset)) == []
    journal.append("b")
    assert [e.kind for e, _ in read_from(tmp_path, offset)] == ["b"]
    journal.close()


def test_no_journal_no_events(tmp_path):
    assert list(read_journal(tmp_path)) == []


def test_a_resume_takes_back_later_steps_and_the_end(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", name="x")
        for step in (1, 2, 3):
            journal.append("step", step=step, metrics={"reward": step})
        journal.append("end", status="KILLED")
        journal.append("resume", step=2)
        journal.append("step", step=3, metrics={"reward": 30})
    kept = kept_events(read_journal(tmp_path))
    assert [(e.kind, e.data.get("step")) for e in kept] == [
        ("start", None), ("step", 1), ("step", 2), ("resume", 2), ("step", 3)]
    assert kept[-1].data["metrics"] == {"reward": 30}


def test_lines_are_plain_json(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("step", step=1)
    line = json.loads((tmp_path / FILE).read_text())
    assert line["kind"] == "step" and line["data"] == {"step": 1} and line["seq"] == 0
