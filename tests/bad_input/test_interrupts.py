"""Ctrl-C in the middle: the run ends as KILLED and `resume` finishes it as if it had not been pressed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
import torch

from rldsl.cli.main import main
from rldsl.runtime.journal import kept_events, read_journal

from .answers import RECIPE, call, civil, ended, start

STEPS = 60
SETS = ["--set", f"budget.steps={STEPS}", "--set", 'sampling=group(4, max_tokens: 12)']


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "tiny.rl").write_text(RECIPE)
    assert main(["run", str(folder / "tiny.rl"), "--out", str(folder / "here"), *SETS]) == 0
    return folder / "here"


def numbers(folder: Path) -> list[dict]:
    events = [e.data for e in kept_events(read_journal(folder)) if e.kind == "step"]
    return [{k: v for k, v in e["metrics"].items() if "second" not in k} for e in events]


def hearing() -> None:
    """The jobs that a shell runs in the background ignore Ctrl-C, and so would everything that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_killed_and_resumed_bit_for_bit(project: Path, undisturbed, capsys, sent) -> None:
    process = start(project, "run", "tiny.rl", "--out", "here", *SETS, preexec_fn=hearing)
    journal, deadline = project / "here" / "journal.jsonl", time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.exists() and journal.read_text().count('"step"') > 12):
        time.sleep(0.02)
    process.send_signal(sent)
    answer = ended(process)
    civil(answer)
    assert answer.code == 3 and answer.says("killed after step", "rldsl resume here")
    assert list(read_journal(project / "here"))[-1].data["status"] == "KILLED"
    assert call(capsys, "resume", "here").code == 0
    assert numbers(project / "here") == numbers(undisturbed)
    last = Path("checkpoints") / f"batch-{STEPS:06d}" / "policy.pt"
    mine, theirs = (torch.load(folder / last, weights_only=True) for folder in (project / "here", undisturbed))
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
