"""Scorers that fail: below the allowed share a row is lost, above it the run stops with the first failure."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

import rldsl.axes.feedback
from rldsl.axes import discover
from rldsl.runtime.journal import read_journal

from .answers import call, civil, refused

CHOICE = '''"""Scores as a module of the project does.

Differs from `verify`: does whatever that module does.
Source: this test.
"""

from rldsl.axes.base import Scorer, Source


class Deed(Source):
    positional = 1
    what: str

    def scorer(self) -> Scorer:
        return Scorer("deeds:judge", {"what": self.what})
'''
DEEDS = '''import os
import time


def judge(text, answer, metadata, *, what):
    """Misbehaves for the prompts that name it, and otherwise scores by length."""
    if metadata["prompt"].startswith("bad"):
        if what == "raises":
            raise ValueError("cannot judge this")
        if what == "hangs":
            time.sleep(1e6)
        if what == "exits":
            os._exit(3)
        return {"nan": float("nan"), "infinity": float("inf"), "none": None, "text": "yes"}[what]
    return float(len(text) % 2)
'''
WORDS = {"raises": "ValueError: cannot judge this (deeds.py, line 9); the traceback is in scorers.log",
         "hangs": "took longer than 0.5 s", "exits": "exit status 3", "nan": "returned nan", "infinity": "returned inf",
         "none": "returned None", "text": "returned 'yes'"}
RUN = ["run", "tiny.rl", "--out", "here", "--set", 'data.train="data.jsonl"', "--set", "feedback.timeout=0.5s"]


@pytest.fixture
def deeds(project: Path, monkeypatch) -> Path:
    """The project with a choice of its own on the feedback axis, and the module that it names."""
    (project / "axis").mkdir()
    (project / "axis" / "deed.py").write_text(CHOICE)
    (project / "deeds.py").write_text(DEEDS)
    monkeypatch.setattr(rldsl.axes.feedback, "__path__", [*rldsl.axes.feedback.__path__, str(project / "axis")])
    discover._shipped.cache_clear()
    yield project
    discover._shipped.cache_clear()
    sys.modules.pop("rldsl.axes.feedback.deed", None)


def prompts(bad: int) -> None:
    """Eight prompts, of which so many are bad."""
    names = ["bad" if i < bad else "good" for i in range(8)]
    rows = [json.dumps({"prompt": f"{name} {i}", "answer": "x"}) + "\n" for i, name in enumerate(names)]
    Path("data.jsonl").write_text("".join(rows))


@pytest.mark.parametrize("what", WORDS)
def test_above_the_allowed_share_the_run_stops_with_the_first_failure(deeds, capsys, what: str) -> None:
    """C-030: an exception is never a score."""
    prompts(bad=8)
    start = time.monotonic()
    refused(capsys, 3, "RL607", "responses have no score", "allowed 20%", WORDS[what], "max_failed", "resume here",
            argv=[*RUN, "--set", f'feedback=deed("{what}")'])
    assert time.monotonic() - start < 15
    end = list(read_journal(Path("here")))[-1]
    assert end.data["status"] == "FAILED" and end.data["error"].startswith("RL607")
    assert not [e for e in read_journal(Path("here")) if e.kind == "step"]


@pytest.mark.parametrize("what", ["raises", "hangs", "exits", "nan"])
def test_below_the_allowed_share_only_the_rows_are_lost(deeds, capsys, what: str) -> None:
    """C-030: an exception costs its row. C-074: so does a scorer that hangs, after its deadline."""
    prompts(bad=1)
    start = time.monotonic()
    answer = call(capsys, *RUN, "--set", f'feedback=deed("{what}")', "--set", "budget.steps=1")
    civil(answer)
    assert answer.code == 0, answer.text
    assert time.monotonic() - start < 15
    step = next(e.data for e in read_journal(Path("here")) if e.kind == "step")
    assert step["metrics"]["responses/unscored"] == 4 / 32
    assert sorted(fate for *_, fate in step["prompts"]) == ["trained"] * 7 + ["unscored"]


def test_the_allowed_share_is_the_recipes(deeds, capsys) -> None:
    prompts(bad=4)
    argv = [*RUN, "--set", 'feedback=deed("nan")', "--set", "budget.steps=1"]
    refused(capsys, 3, "RL607", "allowed 20%", argv=argv)
    argv[3] = "there"
    assert call(capsys, *argv, "--set", "feedback.max_failed=50%").code == 0


@pytest.mark.parametrize("source, says", [("import nowhere", "No module named 'nowhere' (deeds.py, line 1)"),
                                          ("judge = 1", "is not a function"), ("x = (", "SyntaxError")])
def test_a_scorer_that_cannot_be_loaded(deeds, capsys, source: str, says: str) -> None:
    prompts(bad=0)
    (deeds / "deeds.py").write_text(source)
    refused(capsys, 3, "RL607", "(deeds:judge) cannot be loaded", says, argv=[*RUN, "--set", 'feedback=deed("nan")'])


def test_what_is_repaired_can_be_resumed(deeds, capsys) -> None:
    prompts(bad=8)
    assert call(capsys, *RUN, "--set", 'feedback=deed("nan")').code == 3
    (deeds / "deeds.py").write_text("def judge(text, answer, metadata, *, what):\n    return len(text)\n")
    answer = call(capsys, "resume", "here")
    assert answer.code == 0 and answer.says("finished after step 2")
