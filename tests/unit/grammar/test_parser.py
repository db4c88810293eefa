from pathlib import Path

import pytest

from rldsl.diagnostics import RecipeError
from rldsl.grammar import tree
from rldsl.grammar.parser import parse, parse_expression, parse_path

from .shapes import parsed, shape

DATA = Path(__file__).parent / "data"


def expression(text: str) -> str:
    return show(parse_expression(text))


def show(node) -> str:
    """Fully bracketed, so that precedence and association can be read off."""
    match node:
        case tree.Binary(op, left, right):
            return f"({show(left)} {op} {show(right)})"
        case tree.Unary(op, operand):
            return f"({op} {show(operand)})"
        case tree.Range(low, high, scale=scale, count=count):
            return f"<{show(low)}..{show(high)} {scale}{' ' + show(count) if count else ''}>"
        case tree.Call(name, args):
            return f"{name}[{', '.join((a.name + ':' if a.name else '') + show(a.value) for a in args)}]"
        case tree.ListExpr(items):
            return f"[{', '.join(map(show, items))}]"
        case tree.Name(name):
            return name
        case tree.Path():
            return f"`{node.text}`"
        case tree.Constant(value) | tree.String(value) | tree.Number(value):
            return repr(value)


def test_the_design_sample_parses_into_the_statements_it_shows():
    file = parsed((DATA / "design.rl").read_text())
    assert [type(s).__name__ for s in file.statements] == [
        "Import", "Let", "Recipe", "Recipe", "Sweep", "Ablate", "Pipeline"]
    dapo = file.statements[2]
    assert (dapo.name, dapo.parent.id, dapo.doc[:14]) == ("dapo", "grpo", "Decoupled clip")
    assert [type(item).__name__ for item in dapo.body] == ["Assign"] * 8 + ["Block"] * 7 + ["Profile"]
    assert [type(item).__name__ for item in dapo.body[-1].body] == ["Assign", "Block", "Block"]
    assert len(file.comments) == 4


def test_every_form_of_the_language_parses():
    parsed((DATA / "crowded.rl").read_text())


def test_imports():
    library, file = parsed('import std.grpo\nimport "../base.rl"').statements
    assert (library.target, library.quoted, file.target, file.quoted) == ("std.grpo", False, "../base.rl", True)


def test_block_entries_are_separated_by_commas_or_lines():
    text = "recipe a {\n  optim { adamw(lr: 1e-6), epochs: 2\n    updates_per_batch: 4, }\n  cluster { local }\n}"
    optim, cluster = parsed(text).statements[0].body
    assert [entry.key for entry in optim.entries] == [None, "epochs", "updates_per_batch"]
    assert isinstance(optim.entries[0].value, tree.Call) and cluster.entries[0].value.id == "local"


def test_override_paths():
    text = 'recipe a extends b { feedback.format[2].reward = 1\n model.policy = "x" }'
    first, second = parsed(text).statements[0].body
    assert first.target.text == "feedback.format[2].reward"
    assert [(p.name, p.index) for p in first.target.parts] == [("feedback", None), ("format", 2), ("reward", None)]
    assert second.target.text == "model.policy"


def test_sweep_forms():
    sweep = parsed("""sweep s of a {
      optim.lr in 1e-7..1e-5 log 5
      gate.high in 0.1..0.3 linear 3
      data.prompts in pow2 64..512
      seed in 1..3
      zip { gate.low in [1, 2]
            ratio in [x, y] }
      exclude when gate.high == 0.2 and advantage == group_mean
    }""").statements[0]
    values = [show(v) for d in sweep.dimensions for v in d.values]
    assert values == ["<1e-07..1e-05 log 5>", "<0.1..0.3 linear 3>", "<64..512 pow2>", "<1..3 none>", "[1, 2]",
                      "[x, y]"]
    assert [path.text for path in sweep.dimensions[-1].paths] == ["gate.low", "ratio"]
    assert show(sweep.excludes[0].condition) == "((`gate.high` == 0.2) and (advantage == group_mean))"


def test_ablate_with_and_without_options():
    with_order, plain = parsed("ablate x from a to b { order: [gate], seeds: 3 }\nablate y from a to b").statements
    assert [o.key for o in with_order.options] == ["order", "seeds"] and plain.options == ()
    assert (plain.start.id, plain.goal.id) == ("a", "b")


def test_stages():
    stages = parsed("""pipeline p {
      stage one = start
      stage two = next { gate.high = 0.3, optim { epochs: 2 } } from one
      stage three = distil(teachers: [one, two]) from two
    }""").statements[0].stages
    assert [(s.name, show(s.recipe), len(s.body), s.source and s.source.id) for s in stages] == [
        ("one", "start", 0, None), ("two", "next", 2, "one"), ("three", "distil[teachers:[one, two]]", 0, "two")]


@pytest.mark.parametrize(("text", "meaning"), [
    ("a + b * c - d", "((a + (b * c)) - d)"),
    ("(a + b) * c", "((a + b) * c)"),
    ("a | b | c on d", "(((a | b) | c) on d)"),
    ("a + b | c", "((a + b) | c)"),
    ("-a..b + 1", "<(- a)..(b + 1) none>"),
    ("not a == b and c or d", "(((not (a == b)) and c) or d)"),
    ("current / old", "(current / old)"),
    ("clip(0.2, high: 0.28,)", "clip[0.2, high:0.28]"),
    ("[a, 0.5 * b]", "[a, (0.5 * b)]"),
    ("[]", "[]"),
    ("f()", "f[]"),
    ("none", "None"),
    ("x(on: entropy, to: 0, from: y, not: true)", "x[on:entropy, to:0, from:y, not:True]"),
    ("40%..60%", "<0.4..0.6 none>"),
    ("sampling.max_tokens", "`sampling.max_tokens`"),
    ("(\n a\n + b\n)", "(a + b)"),
])
def test_expressions(text, meaning):
    assert expression(text) == meaning


@pytest.mark.parametrize("word", ["import", "let", "recipe", "extends", "sweep", "of", "ablate", "from", "to",
                                  "pipeline", "profile", "zip", "exclude", "when", "in", "stage", "log", "linear",
                                  "pow2", "data", "order", "NAME", "NUMBER", "STRING", "BODY"])
def test_words_of_the_grammar_are_free_as_names(word):
    file = parsed(f"let {word} = 1\nrecipe r {{\n  {word} = {word}(x: {word} + 1)\n  {word}.{word} = 2\n"
                  f"  {word} {{ {word}: {word} }}\n}}")
    let, recipe = file.statements
    assert let.name == word
    assert [type(item).__name__ for item in recipe.body] == ["Assign", "Assign", "Block"]
    assert recipe.body[0].value.name == recipe.body[0].value.args[0].value.left.id == word


def test_spans_are_exact():
    call = parsed("recipe a {\n  gate = clip(0.2,\n    high: 0.28)\n}").statements[0].body[0].value
    assert (call.span.line, call.span.column, call.span.end_line, call.span.end_column) == (2, 10, 3, 16)
    high = call.args[1]
    assert (high.name_span.column, high.name_span.end_column, high.value.span.column) == (5, 9, 11)
    group = parse_expression("(a + b) * c")
    assert (group.span.column, group.left.span.column, group.left.span.end_column) == (1, 1, 8)


def test_strings():
    text = 'let a = "x\\n\\"y\\" \\\\d"\nlet b = """two\nlines"""\nlet c = ""'
    assert [s.value.value for s in parsed(text).statements] == ['x\n"y" \\d', "two\nlines", ""]


def test_doc_string_and_comments():
    file = parsed('# head\nrecipe a {  # why\n  """Long\n  doc."""\n  seed = 1\n}')
    assert file.statements[0].doc == "Long\n  doc."
    assert [(span.line, text) for span, text in file.comments] == [(1, "# head"), (2, "# why")]


def test_line_ends_of_other_systems():
    assert shape(parsed("let a = 1\r\nlet b = [1,\r\n2]\r\n").statements) == \
        shape(parsed("let a = 1\nlet b = [1,\n2]\n").statements)


def test_command_line_values():
    assert parse_expression("0.3").value == 0.3
    assert parse_path("gate.high").text == "gate.high"
    assert parse_path("seed").text == "seed"


@pytest.mark.parametrize("text", ["", "a b", "a, b", "f(", "=", "a\x00b", '"x', "[" * 200])
def test_bad_command_line_values_are_refused_with_a_diagnostic(text):
    with pytest.raises(RecipeError) as caught:
        parse_expression(text)
    assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize("text", ["", "gate.", "gate[x]", "3", "gate.high = 1", "gate[0]"])
def test_bad_command_line_paths_are_refused_with_a_diagnostic(text):
    with pytest.raises(RecipeError):
        parse_path(text)


def test_the_file_covers_the_whole_text():
    file, _ = parse("let a = 1\n", "x.rl")
    assert (file.path, file.text, file.span.end_line) == ("x.rl", "let a = 1\n", 2)
