import re
import time

import pytest

from rldsl.grammar.parser import parse

from .shapes import codes

EVERY_KIND = """recipe a {
  gate = clip(0.2
  ratio = token(current / old)
  feedback = = 3
  model { policy = "x" }
  advantage: group_norm
}
recipe b {
  gate = clip(0.2 high: 3)
  data { train: "x, prompts: 3 }
  ratio = a b
  seed = 20q
}
"""


def test_all_independent_errors_of_a_file_are_reported_in_order_and_nothing_else():
    assert codes(EVERY_KIND) == [("RL102", 2, 14), ("RL101", 4, 14), ("RL101", 5, 18), ("RL101", 6, 12),
                                 ("RL101", 9, 19), ("RL102", 10, 17), ("RL101", 11, 13), ("RL203", 12, 10)]


def test_what_is_right_beside_an_error_is_still_read():
    file, _ = parse(EVERY_KIND, "x")
    assert [(s.name, len(s.body)) for s in file.statements] == [("a", 2), ("b", 2)]


@pytest.mark.parametrize(("text", "place"), [
    ('recipe a {\n  model { policy: "x"\n  gate = clip(0.2)\n}\nrecipe b { gate = x }\n', (2, 9)),
    ("recipe a {\n  gate = clip(0.2)\n\nrecipe b { gate = x }\n", (1, 10)),
    ("recipe a {\n  gate = clip(0.2\n}\nlet x = 1\n", (2, 14)),
    ("recipe a {\n  gate = (a + [1, 2)\n}\n", (2, 15)),
    ("recipe a {\n  gate = f(\n    1,\n  model.policy = 3\n  seed = 2\n}", (2, 11)),
    ("let a = f(1,\nlet b = 2", (1, 10)),
    ("recipe a { gate = x", (1, 10)),
    ('let a = "abc\nlet b = 1', (1, 9)),
    ('let a = """abc\nlet b = (1\n', (1, 9)),
    ('recipe a { feedback = verify("math)\n}\n', (1, 30)),
    ('recipe a { data { train: "x, prompts: 3 } }\n', (1, 26)),
])
def test_unclosed_things_are_reported_once_at_their_opening(text, place):
    assert codes(text) == [("RL102", *place)]


def test_badly_indented_files_are_still_right():
    assert codes("recipe a {\ngate = f(\n1\n)\nmodel {\npolicy: \"x\"\n    }\n  seed = 1\n}\n") == []


@pytest.mark.parametrize(("text", "says"), [
    ("recpie x { gate = 3 }", "did you mean `recipe`?"),
    ("gate = 3", "axes and blocks stand inside `recipe name { … }`"),
    ("recipe my-recipe { }", "names are letters, digits and `_`"),
    ("recipe x { gate = a +\n}", "an expression ends with its line"),
    ("recipe x { gate = a\n | b }", "an expression ends with the line above"),
    ("recipe x { gate = clip(low = 0.2) }", "arguments are written `name: value`"),
    ("recipe x { gate = clip(0.2 0.3) }", "separate values with `,`"),
    ("recipe x { model { policy = 3 } }", "inside a block, write `key: value`"),
    ("recipe x { gate: 3 }", "outside blocks, write `axis = choice`"),
    ("let x = 1 < 2 < 3", "compare two values at a time"),
    ("let x = 'a'", "between double quotes"),
    ("recipe x { feedback = format(sys.exit.*) }", "between double quotes"),
    ("let x = 1; let y = 2", "`;` is not used here"),
    ("let é = 1", "names are ASCII letters"),
    ("let x = 20K", "write `20k`"),
    ("let x = 7B", "is a string: `\"7B\"`"),
    ('let x = "\\d"', "a backslash itself is written"),
    ("let x = a ^ b", "the character `^` has no meaning here"),
    ("let x = a\u00a0+ b", "U+00A0"),
    ("let x = .5", "expected a value, found `.`"),
    ("let x = on", "expected a value, found `on`"),
    ("let = 1", "expected a name, found `=`"),
    ("import", "expected a name or a string, found the end of the statement"),
    ("sweep s { }", "expected `of`, found `{`"),
    ("recipe x { seed = 1 } let y = 2", "expected the end of the statement, found `let`"),
    ("recipe x { a,, b = 3 }", "expected `=` or `{`, found `,`"),
    ("recipe x { seed = 1\n 'd' }", "between double quotes"),
    ('recipe x { seed = 1\n "d" }', "move this string to the top"),
    ("let x = 1)", "this `)` closes nothing"),
    ("}", "this `}` closes nothing"),
    ("let x = (1]", "`(` is closed by `]`"),
    ("let x = 1e999", "beyond what double precision can hold"),
])
def test_messages_say_what_was_expected_or_what_to_write(text, says):
    diagnostic = parse(text, "x.rl")[1][0]
    assert says.lower() in f"{diagnostic.message} / {diagnostic.fix}".lower()
    assert not re.search(r"[A-Z]{4,}|\$|lark|Token", f"{diagnostic.message} {diagnostic.fix}".replace("ASCII", ""))


@pytest.mark.parametrize(("text", "places"), [
    ("recipe a { }\nlet a = 3", ((2, 5), (1, 8))),
    ("recipe a { gate = 1\n gate = 2 }", ((2, 2), (1, 12))),
    ("recipe a { gate.low = 1\n gate.low = 2 }", ((2, 2), (1, 12))),
    ("recipe a { model { }\n model { } }", ((2, 2), (1, 12))),
    ("recipe a { model { dtype: x\n dtype: y } }", ((2, 2), (1, 20))),
    ("recipe a { profile p { }\n profile p { } }", ((2, 10), (1, 20))),
    ("pipeline a { stage x = y\n stage x = z }", ((2, 8), (1, 20))),
    ("sweep a of b { seed in 1..2\n zip { seed in 1..3 } }", ((2, 8), (1, 16))),
])
def test_two_definitions_of_a_name_are_both_shown(text, places):
    (diagnostic,) = parse(text, "x.rl")[1]
    assert diagnostic.code == "RL110"
    assert tuple((label.span.line, label.span.column) for label in diagnostic.labels) == places
    assert [label.primary for label in diagnostic.labels] == [True, False]


def test_an_axis_and_a_block_may_share_a_name_and_bare_entries_repeat():
    text = "recipe a { feedback = x\n feedback { timeout: 30s }\n feedback.y = 1\n evaluate { f(1), f(2) } }"
    assert codes(text) == []


@pytest.mark.parametrize("text", [
    "let x = " + "(" * 10_000, "let x = " + "-" * 10_000 + "1", "let x = " + "+".join("a" * 10_000),
    "recipe a " + "{ b " * 10_000, "let x = " + "f(a: [" * 10_000, "let x = " + "not " * 10_000 + "a",
    "let x = " + "(1 + " * 60 + "1" + ")" * 60,
])
def test_deep_nesting_is_refused(text):
    assert [code for code, _, _ in codes(text)] == ["RL103"]


def test_ninety_levels_are_fine():
    assert codes("let x = " + "(" * 90 + "1" + ")" * 90) == []
    assert codes("let x = [" + ", ".join(["-1"] * 1000) + "]") == []


@pytest.mark.parametrize("text", ["x" * 10_000_000, "let a = 1\n\0\n"])
def test_what_is_no_recipe_text_is_refused(text):
    assert [code for code, _, _ in codes(text)] == ["RL103"]


def test_noise_is_answered_quickly_and_with_a_bounded_number_of_errors():
    started = time.perf_counter()
    assert 1 <= len(codes("é ) " * 50_000)) <= 100
    assert 1 <= len(codes("a\n" * 20_000)) <= 100
    assert len(codes('"' * 100_001)) <= 100
    assert time.perf_counter() - started < 5


def test_the_empty_file_is_fine():
    assert codes("") == codes("\n\n  \n# only a comment") == []
