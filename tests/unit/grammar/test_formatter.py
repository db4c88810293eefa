from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rldsl.diagnostics import RecipeError
from rldsl.grammar.formatter import format_source
from rldsl.grammar.lexer import tokenize
from rldsl.grammar.parser import parse

from .shapes import parsed, shape
from .trees import FILES

DATA = Path(__file__).parent / "data"
SYNTAX = {"RL101", "RL102", "RL103"}


def comments(text: str) -> list[str]:
    return sorted(comment.text.rstrip() for comment in tokenize(text, "x").comments)


def check(text: str) -> str:
    """Formats a text and holds every promise of the formatter."""
    once = format_source(text, "x")
    before, after = parse(text, "x"), parse(once, "x")
    assert shape(after[0].statements) == shape(before[0].statements)
    assert not {d.code for d in after[1]} & SYNTAX
    assert comments(once) == comments(text)
    assert format_source(once, "x") == once
    assert all(line == line.rstrip() for line in once.split("\n") if '"""' not in text)
    return once


@pytest.mark.parametrize("name", ["design", "crowded"])
def test_samples_look_as_reviewed(name):
    assert check((DATA / f"{name}.rl").read_text()) == (DATA / f"{name}.formatted.rl").read_text()


def pieces(text: str):
    """The statements of a text, each alone; the items of a recipe each in a recipe of its own."""
    lines = text.split("\n")
    for statement in parsed(text).statements:
        items = getattr(statement, "body", ()) if statement.span.end_line > statement.span.line else ()
        for part in items or (statement,):
            alone = "\n".join(lines[part.span.line - 1:part.span.end_line])
            yield f'recipe one extends two {{\n  "What it is."\n{alone}\n}}' if items else alone


def gaps(text: str):
    """Each of the pieces with a comment put into each gap between two of its tokens."""
    for piece in pieces(text):
        tokens = tokenize(piece, "x").tokens
        for place in sorted({offset for t in tokens for offset in (t.start, t.start + len(t.text))}):
            yield f"{piece[:place]} # in the gap\n{piece[place:]}"


def test_a_comment_in_any_gap_survives():
    kept = refused = 0
    for text in gaps((DATA / "crowded.rl").read_text()):
        if parse(text, "x")[1]:
            with pytest.raises(RecipeError):
                format_source(text, "x")
            refused += 1
        else:
            check(text)
            kept += 1
    assert kept > 400 and refused < kept


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(FILES, st.randoms(use_true_random=False))
def test_random_files_keep_their_tree_and_all_comments(text, random):
    assert not {d.code for d in parse(text, "x")[1]} & SYNTAX, text
    check(text)
    tokens = [t for t in tokenize(text, "x").tokens if t.type in (",", "(", "[", "{")]
    for token in sorted(random.sample(tokens, min(3, len(tokens))), key=lambda t: -t.start):
        text = f"{text[:token.start + 1]} # c{token.start}\n{text[token.start + 1:]}"
    if not {d.code for d in parse(text, "x")[1]} & SYNTAX:
        check(text)


@pytest.mark.parametrize(("text", "formatted"), [
    ("", ""),
    ("\n\n", ""),
    ("\n\n# only\n\n\n# comments", "# only\n\n# comments\n"),
    ("let a=-1", "let a = -1\n"),
    ("let a=1\nlet long=2\n\nlet b=3", "let a    = 1\nlet long = 2\n\nlet b = 3\n"),
    ("let a=1 ..k", "let a = 1..k\n"),
    ("let a=not(b)", "let a = not (b)\n"),
    ("let a=b - -c*( d )", "let a = b - -c * (d)\n"),
    ("let a=f [2] . x", "let a = f[2].x\n"),
    ("let a=f(on:1,not:2)", "let a = f(on: 1, not: 2)\n"),
    ("let a = [1,2,]", "let a = [1, 2]\n"),
    ("recipe a{}", "recipe a {}\n"),
    ("recipe a{\n}", "recipe a {}\n"),
    ("recipe a{gate=x}", "recipe a { gate = x }\n"),
    ("recipe a{\ngate=x}", "recipe a {\n  gate = x\n}\n"),
    ("recipe a{gate=x,seed=1}", "recipe a { gate = x, seed = 1 }\n"),
    ("recipe a{\n\n\ngate=x\n\n\n\nseed=1\n\n}", "recipe a {\n  gate = x\n\n  seed = 1\n}\n"),
    ("recipe a{ # why\n}", "recipe a {  # why\n}\n"),
    ("let a=1\nrecipe b{\nseed=1}\nrecipe c{\nseed=2}", "let a = 1\n\nrecipe b {\n  seed = 1\n}\n\n"
                                                        "recipe c {\n  seed = 2\n}\n"),
    ("let a=f(1, # one\n2)", "let a = f(\n  1,  # one\n  2,\n)\n"),
    ("let a=(b # one\n+c)", "let a = (\n  # one\n  b + c\n)\n"),
    ("let a=f( # head\n)", "let a = f(\n  # head\n)\n"),
])
def test_small_texts(text, formatted):
    assert check(text) == formatted


def test_a_long_call_breaks_over_lines():
    text = f"let a = f({', '.join(f'argument_{i}: {i}' for i in range(9))}) + g(1)"
    lines = check(text).split("\n")
    assert lines[0] == "let a = f(" and lines[1] == "  argument_0: 0," and lines[-2] == ") + g(1)"


def test_a_long_group_breaks_before_its_loosest_operators():
    text = f"let a = ({' | '.join(f'stage_{i}(x + {i})' for i in range(9))})"
    lines = check(text).split("\n")
    assert lines[:3] == ["let a = (", "  stage_0(x + 0)", "  | stage_1(x + 1)"]


def test_a_long_block_breaks_at_its_braces():
    entries = [f"setting_{i}: {i}" for i in range(9)]
    lines = check(f"recipe a {{\n  model {{ {', '.join(entries)} }}\n}}").split("\n")
    assert lines[1:3] == ["  model {", "    setting_0: 0"]


@pytest.mark.parametrize("width", range(88, 104))
def test_alignment_at_the_edge_of_the_line_is_stable(width):
    entry = f"x: {'y' * (width - 14)}"
    check(f"recipe a {{\n  b {{ {entry} }}\n  longer_name {{ z: 1 }}\n  gate = f({'y' * (width - 13)})\n"
          f"  longer = 1\n}}")


@pytest.mark.parametrize("text", ["let", "recipe a {", 'let a = "', "let a = 1\0", "é"])
def test_files_with_syntax_errors_are_refused(text):
    with pytest.raises(RecipeError):
        format_source(text, "x")


def test_errors_of_meaning_do_not_stop_the_formatter():
    assert format_source("let a=1\nlet a=20K", "x") == "let a = 1\nlet a = 20K\n"


def test_the_shipped_recipes_are_in_the_style():
    files = sorted((Path(__file__).parents[3] / "recipes").rglob("*.rl"))
    assert files and not [f.name for f in files if check(f.read_text()) != f.read_text()], "run rldsl fmt recipes"
