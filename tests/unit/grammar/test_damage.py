"""Damaged files: whatever happens to a text, the answer is diagnostics inside the file, never an exception."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rldsl.diagnostics import RecipeError
from rldsl.diagnostics.render import render
from rldsl.grammar.formatter import format_source
from rldsl.grammar.parser import parse, parse_expression, parse_path

SAMPLE = (Path(__file__).parent / "data" / "design.rl").read_text()
MARKS = ["(", ")", "[", "]", "{", "}", '"', '"""', "\n", ",", "=", ":", "..", "-", "#", "\\", "'", "\t", "\r", "\u202e",
         "\x00", "é", "1e", "0x", " on ", "zip {", "stage ", "recipe x {"]
PIECES = st.one_of(st.sampled_from(MARKS), st.text(max_size=4))
DAMAGE = st.lists(st.tuples(st.integers(0, len(SAMPLE)), st.integers(0, 40), PIECES), min_size=1, max_size=4)


def damaged(changes) -> str:
    text = SAMPLE
    for place, length, piece in changes:
        text = text[:place] + piece + text[place + length:]
    return text


@settings(max_examples=60, deadline=None)
@given(DAMAGE)
def test_a_damaged_file_gets_diagnostics_that_lie_inside_it(changes):
    text = damaged(changes)
    _, diagnostics = parse(text, "x.rl")
    lines = text.split("\n")
    for diagnostic in diagnostics:
        assert diagnostic.code in {"RL101", "RL102", "RL103", "RL110", "RL203", "RL204"} and diagnostic.labels
        for span in (label.span for label in diagnostic.labels):
            assert 1 <= span.line <= span.end_line <= len(lines)
            assert 1 <= span.column <= len(lines[span.line - 1]) + 1
            assert span.end_column <= len(lines[span.end_line - 1]) + 2
    render(diagnostics, {"x.rl": text})
    try:
        format_source(text, "x.rl")
    except RecipeError as error:
        assert {d.code for d in error.diagnostics} <= {d.code for d in diagnostics}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(PIECES, st.sampled_from(["gate", "high", ".", "[1]", "0.3"])), max_size=6).map("".join))
def test_any_command_line_text_gets_a_value_or_diagnostics(text):
    for read in (parse_expression, parse_path):
        try:
            assert read(text).span.file == "--set"
        except RecipeError as error:
            assert error.diagnostics
