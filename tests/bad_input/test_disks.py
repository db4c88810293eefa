"""Disks that take nothing or not enough: said in one sentence, and what was kept can be resumed."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from rldsl.runtime.journal import read_journal

from .answers import call, civil, ended, refused, start

READ_ONLY = "/sys"
"""A folder that even root cannot write into."""


@pytest.mark.parametrize("place", [f"{READ_ONLY}/run", "tiny.rl/run"])
def test_a_folder_that_cannot_be_written(project: Path, capsys, place: str) -> None:
    refused(capsys, 3, "RL612", place, "--out", argv=["run", "tiny.rl", "--out", place])


def test_a_folder_that_is_there_already(project: Path, capsys) -> None:
    (project / "here").mkdir()
    (project / "here" / "mine.txt").write_text("keep")
    refused(capsys, 3, "RL612", "here is there already", "rldsl resume here", argv=["run", "tiny.rl", "--out", "here"])
    assert [f.name for f in (project / "here").iterdir()] == ["mine.txt"]


def limited(kilobytes: int):
    """No file of this process may grow beyond this: what a full disk does, without one."""
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))
    return limit


@pytest.mark.parametrize("kilobytes, says", [(1, "cannot write to"), (150, "batch-000000 cannot be written"),
                                             (600, "batch-000002 cannot be written")])
def test_a_disk_that_fills_up(project: Path, capsys, kilobytes: int, says: str) -> None:
    """The plan, the first checkpoint (weights alone) and the second (with the optimizer's moments) are too large."""
    argv = ["run", "tiny.rl", "--out", "here", "--set", 'model.policy="toy:llama-2x64"']
    answer = ended(start(project, *argv, preexec_fn=limited(kilobytes)))
    civil(answer)
    assert answer.code == 3, answer.text
    answer.says("error[RL612]", says, "= fix: ")
    if kilobytes == 1:
        return
    assert list(read_journal(project / "here"))[-1].data["status"] == "FAILED"
    assert not list((project / "here" / "checkpoints").glob(".half*"))
    answer = call(capsys, "resume", "here")
    assert answer.code == 0 and answer.says("finished after step 2")
    steps = [e.data["step"] for e in read_journal(project / "here") if e.kind == "step"]
    assert steps[-2:] == [1, 2]
