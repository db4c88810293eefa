"""Traces: which responses are shown, under which names, and that the page can be read by anyone, anywhere."""

from __future__ import annotations

import re
from html import unescape

import pytest

from rldsl.axes.discover import find
from rldsl.runtime.errors import RunError
from rldsl.runtime.executor import execute
from rldsl.runtime.health import watching
from rldsl.runtime.trace_html import page
from rldsl.runtime.traces import Piece, Trace, Tracing, _pieces
from rldsl.runtime.trajectory import Trajectory

from .fakes import events, plan_of, run_of

ALTERNATE = lambda request, sibling: "yes" if sibling % 2 == 0 else "no"  # noqa: E731


def decode(ids) -> str:
    return "".join(map(chr, ids))


def made(tmp_path, name: str = "run", every: int = 2, responses: int = 4, steps: int = 5, answer=ALTERNATE):
    run = run_of(plan_of(tmp_path), tmp_path / name, answer, steps=steps)
    run.tracing = Tracing(responses, every, decode)
    return run


def names(text: str) -> list[str]:
    return re.findall(r"<article id='([^']+)'>", text)


def test_the_first_every_second_and_the_last_batch_have_a_page(tmp_path) -> None:
    run = made(tmp_path)
    execute(run)
    written = sorted(p.name for p in (run.folder / "traces").iterdir())
    assert written == [f"batch-{n:06d}.html" for n in (1, 2, 4, 5)]
    assert [e.data["path"] for e in events(run, "artifact")] == [f"traces/{name}" for name in written]


def test_a_page_goes_from_the_best_to_the_worst_and_shows_what_made_the_reward(tmp_path) -> None:
    run = made(tmp_path)
    execute(run)
    text = (run.folder / "traces" / "batch-000001.html").read_text()
    assert len(names(text)) == 4 and all(re.fullmatch(r"1/\d+\.\d", name) for name in names(text))
    levels = [float(x) for x in re.findall(r"A = (-?[\d.]+),", text)]
    assert levels == sorted(levels, reverse=True) and levels[0] > 0 > levels[-1]
    for part in ("<th>verify</th><td>1</td>", "<th>reward with shaping</th>",
                 "<pre class='prompt'>p", "expected: yes", "ended by stop"):
        assert part in text
    assert "http" not in text and "<script" not in text and "<link" not in text


def test_the_same_responses_have_the_same_names_in_another_session(tmp_path) -> None:
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    for run in (one, two):
        execute(run)
    pages = [(run.folder / "traces" / "batch-000004.html").read_text() for run in (one, two)]
    assert names(pages[0]) == names(pages[1]) and pages[0].replace("one", "two") == pages[1]


def test_few_responses_and_fewer_than_asked_for(tmp_path) -> None:
    run = made(tmp_path, responses=1, steps=1)
    execute(run)
    assert len(names((run.folder / "traces" / "batch-000001.html").read_text())) == 1
    run = made(tmp_path, "many", responses=99, steps=1)
    execute(run)
    assert len(names((run.folder / "traces" / "batch-000001.html").read_text())) == 16


def test_a_batch_without_a_response_to_train_on_has_no_page(tmp_path) -> None:
    run = made(tmp_path, answer=lambda r, s: "?", steps=1)
    execute(run)
    assert not (run.folder / "traces").exists() and not events(run, "artifact")


def test_what_stopped_a_run_can_be_looked_at(tmp_path) -> None:
    run = made(tmp_path, every=100, steps=9, answer=lambda r, s: "no")
    run.detectors = watching([find("detector", "no_signal")(patience=3, then="stop")])
    with pytest.raises(RunError):
        execute(run)
    text = (run.folder / "traces" / "batch-000003.html").read_text()
    assert "<strong>no_signal: 100% of the responses" in text


def test_text_is_shown_as_it_is() -> None:
    hostile = "<script>alert('x')</script> & \"quotes\"\n"
    t = Trace("1/0.0", hostile, hostile, (Piece(hostile, 1.0, 0.0, -0.5), Piece("", -0.5, 1.0, None)),
              (("verify", 1.0),), "stop", (3, 5))
    text = page("run<b>", 1, [t], [hostile])
    assert "<script>" not in text and "run<b>" not in text
    assert hostile in unescape(re.sub("<span class='end'>↵</span>", "", text))
    assert "class='masked'" in text and "⟨end⟩" in text and "weights 3 to 5" in text
    colours = re.findall(r"rgba\(([\d, ]+), ([\d.]+)\)' title", text)
    assert colours == [("31, 111, 235", "0.65"), ("224, 108, 0", f"{0.65 * 0.5:.2f}")]


def test_a_character_of_several_tokens_is_one_piece() -> None:
    """The bytes of `é` and of an emoji, one token each."""
    tokens = tuple("aé🙂".encode())
    t = Trajectory(0, 0, 0, (), tokens, (-1.0,) * 7, (0,) * 7, "stop", "")
    found = _pieces(t, {"advantage": [float(i) for i in range(7)]}, lambda ids: bytes(ids).decode(errors="replace"))
    assert [(p.text, p.advantage) for p in found] == [("a", 0.0), ("é", 1.0), ("🙂", 3.0)]
    broken = Trajectory(0, 0, 0, (), (255, 255), (-1.0,) * 2, (0,) * 2, "length", "")
    found = _pieces(broken, {"advantage": [1.0, 2.0]}, lambda ids: bytes(ids).decode(errors="replace"))
    assert "".join(p.text for p in found) == "\ufffd\ufffd"
