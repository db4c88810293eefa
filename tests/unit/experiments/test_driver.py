"""The driver: nothing finished runs again, one failure stops nothing, a kill costs what was not yet written."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rldsl.cli.main import main
from rldsl.experiments.expansion import read_expansion
from rldsl.experiments.registry import entries
from rldsl.runtime.journal import FILE as JOURNAL
from rldsl.runtime.journal import kept_events, read_journal

from .conftest import started

pytestmark = pytest.mark.usefixtures("children")


def sweep(capsys, *args) -> tuple[int, dict]:
    code = main(["sweep", "tiny.rl", "--jobs", "2", "--format", "json", *args])
    return code, json.loads(capsys.readouterr().out)


def statuses(out) -> list[str]:
    return [r["status"] for r in out["runs"]]


def test_every_point_runs_once_and_not_again(project, capsys) -> None:
    code, out = sweep(capsys)
    assert code == 0 and statuses(out) == ["FINISHED"] * 6
    assert len(set(started(project))) == len(started(project)) == 6
    code, out = sweep(capsys)
    assert code == 0 and statuses(out) == ["REUSED"] * 6 and len(started(project)) == 6


def test_another_sweep_reuses_what_is_the_same_experiment(project, capsys) -> None:
    sweep(capsys)
    (project / "tiny.rl").write_text((project / "tiny.rl").read_text().replace("sweep s", "sweep other")
                                     .replace("0.2, 0.3, 0.4", "0.3, 0.5"))
    _, out = sweep(capsys)
    assert sorted(statuses(out)) == ["FINISHED", "FINISHED", "REUSED", "REUSED"] and len(started(project)) == 8


def test_again_runs_what_is_finished_in_folders_of_its_own(project, capsys) -> None:
    sweep(capsys)
    code, out = sweep(capsys, "--again")
    assert code == 0 and statuses(out) == ["FINISHED"] * 6
    assert len(started(project)) == 12 and len({r["folder"] for r in out["runs"]} & set(started(project))) == 0
    assert sorted(Path(r["folder"]).name[-2:] for r in out["runs"]) == ["-2"] * 6


def test_one_failure_stops_nothing_and_is_told(project, capsys) -> None:
    (project / "behave.json").write_text('{"p002": "fail"}')
    code, out = sweep(capsys)
    assert code == 3 and statuses(out).count("FINISHED") == 4
    failed = [r for r in out["runs"] if r["status"] == "FAILED"]
    assert [r["points"] for r in failed] == [["p002"], ["p002"]] and failed[0]["error"] == "RL601 not finite"
    (project / "behave.json").unlink()
    code, out = sweep(capsys)
    assert code == 0 and sorted(statuses(out)) == ["FINISHED"] * 2 + ["REUSED"] * 4


def test_a_killed_child_is_taken_up_where_it_was(project, capsys) -> None:
    (project / "behave.json").write_text('{"p001": "die"}')
    code, out = sweep(capsys)
    assert code == 0 and statuses(out) == ["FINISHED"] * 6
    assert len(started(project)) == 8
    folder = Path(next(r["folder"] for r in out["runs"] if r["points"] == ["p001"]))
    events = list(read_journal(folder))
    assert [e.kind for e in events] == ["start", "step", "resume", "step", "step", "evaluate", "end"]


def test_a_child_that_dies_every_time_is_given_up(project, capsys, monkeypatch) -> None:
    monkeypatch.setattr("rldsl.experiments.driver.COMMAND",
                        (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"))
    code, out = sweep(capsys)
    assert code == 3 and statuses(out) == ["KILLED"] * 6 and out["runs"][0]["error"] == "its process was killed"


def test_a_damaged_journal_fails_its_run_and_no_other(project, capsys) -> None:
    _, out = sweep(capsys)
    folder = next(Path(r["folder"]) for r in out["runs"] if r["points"] == ["p002"])
    with open(folder / JOURNAL, "a") as journal:
        journal.write("junk{\n")
    code, out = sweep(capsys)
    assert code == 3 and sorted(statuses(out)) == ["FAILED"] + ["REUSED"] * 5
    failed, = (r for r in out["runs"] if r["status"] == "FAILED")
    assert failed["folder"] == str(folder) and "RL609" in failed["error"] and "damaged" in failed["error"]
    assert main(["runs"]) == 0 and f"{folder.name}  tiny" in capsys.readouterr().out


def test_a_child_that_is_refused_says_why(project, capsys, monkeypatch) -> None:
    """It writes down no end: the reason is in what it printed for programs, not in its last line for people."""
    found = {"code": "RL408", "severity": "error", "message": "No such rows."}
    told = json.dumps({"version": 1, "diagnostics": [found]})
    monkeypatch.setattr("rldsl.experiments.driver.COMMAND", (
        sys.executable, "-c", f"import sys; print({told!r}); print('tiny  runs/x', file=sys.stderr); sys.exit(4)"))
    code, out = sweep(capsys)
    assert code == 3 and {r["error"] for r in out["runs"]} == {"RL408 No such rows."}


def test_a_folder_that_cannot_be_made_fails_its_run_and_no_other(project, capsys) -> None:
    sweep(capsys)
    taken = next((project / "runs").iterdir())
    (project / "runs" / f"{taken.name}-2").touch()
    code, out = sweep(capsys, "--again")
    failed, = (r for r in out["runs"] if r["status"] == "FAILED")
    assert code == 3 and statuses(out).count("FINISHED") == 5 and failed["error"].startswith("RL612 cannot write to")


@pytest.mark.parametrize("command", [["sweep", "tiny.rl"], ["sweep", "tiny.rl", "--dry-run"],
                                     ["ablate", "tiny.rl:tiny", "tiny.rl:wide"]])
def test_a_project_that_takes_no_files(project, capsys, command) -> None:
    (project / "tiny.rl").write_text((project / "tiny.rl").read_text()
                                     + "recipe wide extends tiny { gate.high = 0.3 }\n")
    (project / ".rldsl").touch()
    assert main(command) == 4
    assert "RL407" in (said := capsys.readouterr().err) and "Cannot write a plan below" in said
    assert not (project / "runs").exists()


DRIVE = """import sys
from rldsl.cli.main import main
from rldsl.experiments import driver
driver.COMMAND, driver.POLL = (sys.executable, sys.argv[1]), 0.02
sys.exit(main(["sweep", "tiny.rl", "--jobs", "2"]))
"""


def drive(project: Path) -> subprocess.Popen:
    child = str(Path(__file__).with_name("child.py"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen([sys.executable, "-c", DRIVE, child], cwd=project, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(holds, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_driver_killed_in_the_middle_leaves_nothing_undone_or_doubled(project, capsys) -> None:
    """The children that it leaves behind are waited for; each point ends once, whoever saw it end."""
    (project / "behave.json").write_text(json.dumps({f"p00{i}": "slow" for i in (1, 2, 3)}))
    for begun in (2, 4):
        process = drive(project)
        until(lambda begun=begun: len(started(project)) >= begun)
        process.kill()
        process.wait()
    (project / "behave.json").unlink()
    code, _ = sweep(capsys)
    assert code == 0
    found = list(entries(project))
    assert [e.status for e in found] == ["FINISHED"] * 6 and len({e.experiment for e in found}) == 6
    for e in found:
        kept = [x.data["step"] for x in kept_events(read_journal(e.folder)) if x.kind == "step"]
        assert kept == [1, 2, 3]


def test_an_interrupted_driver_ends_its_children(project) -> None:
    (project / "behave.json").write_text('{"p001": "slow"}')
    process = drive(project)
    until(lambda: len(started(project)) >= 2)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and "interrupted" in err and "Traceback" not in err + out
    assert not any(e.status == "RUNNING" for e in entries(project))
    home = next(p for p in (project / ".rldsl" / "sweeps").iterdir() if p.is_dir())
    assert list(read_journal(home))[-1].data == {"status": "KILLED"}


def test_two_drivers_of_one_sweep(project, capsys) -> None:
    sweep(capsys)
    home = next(p for p in (project / ".rldsl" / "sweeps").iterdir() if p.is_dir())
    with open(home / "driver.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["sweep", "tiny.rl"]) == 3
    assert "RL609" in capsys.readouterr().err


def test_what_is_frozen_reads_back(project, capsys) -> None:
    code, out = sweep(capsys, "--dry-run")
    assert code == 0 and not started(project)
    frozen = read_expansion(Path(out["expansion"]["file"]))
    assert frozen.name == "s" and frozen.seeds == (1, 2) and [p.label for p in frozen.points] == [
        "gate.high = 0.2", "gate.high = 0.3", "gate.high = 0.4"]
    assert len(frozen.jobs()) == 6 and (project / frozen.jobs()[0].plan).is_file()


def test_looking_at_a_sweep_loads_nothing_heavy(project) -> None:
    code = ("import sys; from rldsl.cli.main import main; main(['sweep', 'tiny.rl', '--dry-run']);"
            "print([m for m in ('torch', 'mlflow', 'numpy', 'scipy', 'ray') if m in sys.modules])")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
