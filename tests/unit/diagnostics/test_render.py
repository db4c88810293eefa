import json

import pytest

from rldsl.diagnostics import Diagnostic, Label, Span, at
from rldsl.diagnostics.render import render, summary
from rldsl.diagnostics.terminal import WIDEST

SOURCE = "recipe a {\n  gate = clip(0.2)\n\n  ratio = sequence\n}\n"
GATE, RATIO = Span("a.rl", 2, 10, 2, 19), Span("a.rl", 4, 11, 4, 19)
CLASH = at("RL305", "two regularisers", GATE, "this one", also=((RATIO, "and this"),), why="counted twice",
           fix="drop one")


def lines(diagnostic, source=SOURCE, **options):
    return render([diagnostic], {"a.rl": source}, **options).split("\n")


def test_the_terminal_form_shows_every_place_then_why_then_fix():
    assert "\n".join(lines(CLASH)) == """error[RL305]: Two regularisers.
 --> a.rl:2:10
   |
 2 |   gate = clip(0.2)
   |          ^^^^^^^^^ this one
…
 4 |   ratio = sequence
   |           -------- and this
   = why: Counted twice.
   = fix: Drop one."""


def test_places_in_several_files_are_drawn_under_their_file():
    other = Span("base.rl", 1, 1, 1, 4)
    text = render([at("RL110", "twice", GATE, also=((other, "first"),))], {"a.rl": SOURCE, "base.rl": "let x = 1"})
    assert text.index("--> a.rl:2:10") < text.index("::: base.rl:1:1") < text.index("--- first")


def test_two_places_on_one_line_each_have_their_own_row():
    found = lines(at("RL1", "m", Span("a.rl", 2, 15, 2, 18), "value", also=((Span("a.rl", 2, 10, 2, 14), "name"),)))
    assert [line.split("|")[1].rstrip() for line in found[4:6]] == ["          ---- name", "               ^^^ value"]


@pytest.mark.parametrize(("line", "column", "end", "before", "width"), [
    ("\tgate", 2, 6, 4, 4), ("ab\tgate", 4, 8, 4, 4), ("数学 gate", 4, 8, 5, 4), ("数学", 1, 3, 0, 4),
    ("e\u0301 gate", 4, 8, 2, 4), ("gate", 5, 6, 4, 1), ("gate", 3, 3, 2, 1), ("ga\x1b[te", 1, 3, 0, 2)])
def test_underlines_stand_below_what_they_mark(line, column, end, before, width):
    drawn = lines(at("RL1", "m", Span("a.rl", 1, column, 1, end)), line)
    assert drawn[-1].split("|", 1)[1][1:] == " " * before + "^" * width


def test_a_place_over_several_lines_is_marked_at_both_ends():
    drawn = lines(at("RL1", "m", Span("a.rl", 1, 8, 5, 2), "all of it"))
    assert [line.split("|")[1] for line in drawn if "^" in line] == ["        ^^^", " ^ all of it"]


def test_a_long_line_is_cut_around_the_place():
    drawn = lines(at("RL1", "m", Span("a.rl", 1, 5001, 1, 5004)), "x" * 5000 + "abc" + "y" * 5000)
    shown, marks = (line.split("| ")[1] for line in drawn[-2:])
    assert len(shown) == WIDEST and shown[0] == shown[-1] == "…"
    assert shown[marks.index("^"):marks.rindex("^") + 1] == "abc"


def test_nothing_in_a_file_can_steer_the_terminal():
    hostile = "\x1b]0;title\x07\u202e\r let"
    text = render([at("RL1", f"bad {hostile}", Span("a\x1b[2J.rl", 1, 1, 1, 2), fix=hostile)], {"a\x1b[2J.rl": hostile})
    assert not set(text) & {"\x1b", "\x07", "\r", "\u202e"}


@pytest.mark.parametrize("sources", [{}, {"a.rl": ""}])
def test_a_place_without_text_is_named(sources):
    assert render([CLASH], sources).split("\n")[1:3] == [" --> a.rl:2:10", "   = this one"]


def test_a_place_beyond_the_text_does_not_fail():
    assert "^" in "\n".join(lines(at("RL1", "m", Span("a.rl", 90, 7, 91, 8)), "let"))


def test_a_diagnostic_without_a_place():
    assert render([at("RL206", "no file", None, fix="check")], {}) == "error[RL206]: No file.\n   = fix: Check."


def test_file_order_and_no_repetition():
    late, early = at("RL1", "late", RATIO), at("RL2", "early", GATE)
    text = render([late, early, late], {}, style="concise")
    assert text == "a.rl:2:10: error[RL2]: Early.\na.rl:4:11: error[RL1]: Late."


def test_colour_changes_nothing_but_colour():
    import re
    plain, painted = (render([CLASH], {"a.rl": SOURCE}, color=c) for c in (False, True))
    assert painted != plain and re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_json():
    payload = json.loads(render([CLASH], {}, style="json"))
    assert payload == {"version": 1, "diagnostics": [{
        "code": "RL305", "severity": "error", "message": "Two regularisers.", "why": "Counted twice.",
        "fix": "Drop one.",
        "spans": [{"file": "a.rl", "start": [2, 10], "end": [2, 19], "label": "this one", "primary": True},
                  {"file": "a.rl", "start": [4, 11], "end": [4, 19], "label": "and this", "primary": False}]}]}


def test_sarif():
    warning = Diagnostic("RL501", "no effect", (Label(GATE),), severity="warning")
    run = json.loads(render([CLASH, warning, at("RL206", "no file", None)], {}, style="sarif"))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["RL206", "RL305", "RL501"]
    none, clash, other = run["results"]
    assert "locations" not in none and other["level"] == "warning"
    assert clash["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a.rl"},
        "region": {"startLine": 2, "startColumn": 10, "endLine": 2, "endColumn": 19}}
    assert clash["relatedLocations"][0]["message"] == {"text": "and this"}
    assert run["results"][1]["ruleIndex"] == 1


def test_summary():
    warning = Diagnostic("RL501", "no effect", (Label(GATE),), severity="warning")
    assert summary([CLASH, at("RL1", "m", RATIO), warning]) == "2 errors, 1 warning" and summary([]) == ""
