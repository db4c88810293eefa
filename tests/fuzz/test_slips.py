"""A slip of the pen in a sound recipe is a syntax error, or something else, and never both."""

import random
import re
from pathlib import Path

import pytest

import rldsl
from rldsl.compiler.resolve import resolve_file
from rldsl.diagnostics import RecipeError

LIBRARY = Path(rldsl.__file__).parents[1] / "recipes" / "algorithms"
WORD = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|\d[\w.]*|[^\s\w]')
JUNK = ("}", "{", "(", ")", "[", "]", "=", ":", "|", "+", "*", "/", ",", ".", "$", " 5 ", ' "x" ', " in ", " when ")
SLIPS = 120


def slip(seed: int) -> str:
    """A shipped recipe in which one word is left out, doubled, replaced, or follows something that is not there."""
    draw = random.Random(seed)
    text = draw.choice(sorted(LIBRARY.glob("*.rl"))).read_text(encoding="utf-8")
    word = draw.choice(list(WORD.finditer(text)))
    before, after, junk = text[:word.start()], text[word.end():], draw.choice(JUNK)
    return before + draw.choice(("", f"{word[0]} {word[0]}", junk, junk + word[0])) + after


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """{text: what was found} of the slips with a syntax error."""
    path, found = tmp_path_factory.mktemp("slips") / "slip.rl", {}
    for text in map(slip, range(SLIPS)):
        path.write_text(text, encoding="utf-8")
        try:
            resolve_file(str(path))
        except RecipeError as error:
            if any(d.code.startswith("RL10") for d in error.diagnostics):
                found[text] = error.diagnostics
    return found


def test_nothing_follows_from_a_syntax_error(refused):
    assert len(refused) > SLIPS / 3
    for text, found in refused.items():
        assert all(d.code.startswith("RL10") or unnamed(d) for d in found), (found, text)


def test_one_place_has_one_finding_of_a_kind(refused):
    for text, found in refused.items():
        assert len({(d.code, d.primary) for d in found}) == len(found), (found, text)


def unnamed(found) -> bool:
    """A profile without its name is an unknown block: then what stands in it is in the wrong place."""
    return found.code == "RL201" and "`profile`" in found.message


def test_what_else_is_wrong_in_a_recipe_with_a_syntax_error_is_said(tmp_path):
    """Two mistakes that have nothing to do with one another, each on a line of its own."""
    path = tmp_path / "two.rl"
    path.write_text("import std.quickstart\nrecipe two extends quickstart {\n  gate = = clip(0.2)\n"
                    "  data { promts: 4 }\n}\nsweep lost of two { gate.high [0.2] in }\n", encoding="utf-8")
    with pytest.raises(RecipeError) as error:
        resolve_file(str(path))
    assert [(d.code, d.primary.line) for d in error.value.diagnostics] == [("RL101", 3), ("RL201", 4), ("RL101", 6)]
