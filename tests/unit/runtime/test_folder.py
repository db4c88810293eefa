"""How a run stands, from its folder alone."""

import fcntl

from rldsl.runtime.folder import LOCK, TAIL, last_event, status
from rldsl.runtime.journal import FILE, Journal


def test_a_run_is_new_running_killed_or_what_its_last_event_says(tmp_path):
    assert status(tmp_path) == ("NEW", "")
    with Journal(tmp_path) as journal:
        journal.append("step", step=1, metrics={})
    assert status(tmp_path) == ("KILLED", "")
    with open(tmp_path / LOCK, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert status(tmp_path) == ("RUNNING", "")
    with Journal(tmp_path) as journal:
        journal.append("end", status="FAILED", error="RL601 not finite")
    assert status(tmp_path) == ("FAILED", "RL601 not finite")


def test_a_journal_that_ends_in_no_event_is_told_and_no_crash(tmp_path):
    for junk in ('junk{', '[1]', '{"kind": "end"}', '{"kind": "end", "data": {}}', '\x00'):
        (tmp_path / FILE).write_text(junk + "\n")
        stands, error = status(tmp_path)
        assert stands == "FAILED" and "RL609" in error and "damaged" in error


def test_a_lock_that_can_only_be_read_is_looked_at(tmp_path, monkeypatch):
    """Whoever reads another's project opens nothing for writing."""
    (tmp_path / LOCK).touch()
    opened = []
    monkeypatch.setattr("builtins.open", lambda path, mode="r", real=open: (opened.append(mode), real(path, mode))[1])
    assert status(tmp_path) == ("NEW", "") and opened == ["rb"]


def test_the_last_event_is_the_last_whole_line_however_long(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append("start", recipe="x" * 3 * TAIL)
    assert last_event(tmp_path)["kind"] == "start"
    with open(tmp_path / FILE, "a") as file:
        file.write('{"seq": 1, "ki')
    assert last_event(tmp_path)["kind"] == "start"
