"""A wrong value is underlined where it was written: parent file, profile, `let`, `--set`, one term of a sum."""

import pytest

from .project import errors, recipe_text, underlined, write

# code → (axis and a whole wrong expression, the wrong part), (dotted path, wrong value)
WHOLE = {
    "RL201": ("gate", "clip(0.2) + klip(1)", "klip"),
    "RL203": ("gate", "kl(coef: 1s) + clip(0.2)", "1s"),
    "RL204": ("gate", "clip(-0.2) + kl(0.1)", "-0.2"),
    "RL205": ("gate", "clip(0.2, hgih: 3) + kl(0.1)", "hgih"),
    "RL208": ("feedback", 'verify(exact, pattern: "a") + overlong', '"a"'),
    "RL209": ("gate", "clip(dual: -1) + kl(0.1)", "-1"),
}
ONE = {"RL201": ("sampling.n", "foo"), "RL203": ("gate.high", "1s"), "RL204": ("gate.high", "-0.5"),
       "RL209": ("gate.dual", "0"), "RL207": ("gate.hgih", "0.5"), "RL208": ("feedback.tolerance", "0.5")}
EDITED = {"RL207": "hgih"}


def single(path, **options):
    problem, = errors(path, **options)
    span = next(label.span for label in problem.labels if label.primary)
    return problem, span


@pytest.mark.parametrize("code", WHOLE)
def test_in_a_term_of_a_sum(tmp_path, code):
    axis, text, wrong = WHOLE[code]
    problem, _ = single(write(tmp_path, main=recipe_text(**{axis: text})), name="base")
    assert problem.code == code and underlined(problem) == wrong


@pytest.mark.parametrize("code", WHOLE)
def test_in_a_parent_file(tmp_path, code):
    axis, text, wrong = WHOLE[code]
    write(tmp_path, parent=recipe_text("parent", **{axis: text}))
    path = write(tmp_path, main='import "parent.rl"\nrecipe x extends parent { advantage = group_mean }\n')
    problem, span = single(path, name="x")
    assert problem.code == code and underlined(problem) == wrong and span.file.endswith("parent.rl")


@pytest.mark.parametrize("code", WHOLE)
def test_in_a_profile(tmp_path, code):
    axis, text, wrong = WHOLE[code]
    source = recipe_text(body=f"profile p {{\n  {axis} = {text}\n}}")
    assert errors(write(tmp_path, main=source), name="base") == ()
    problem, span = single(write(tmp_path, main=source), name="base", profile="p")
    assert problem.code == code and underlined(problem) == wrong and span.line == 11


@pytest.mark.parametrize("code", ONE)
def test_in_a_dotted_path(tmp_path, code):
    path, wrong = ONE[code]
    source = recipe_text() + f"recipe x extends base {{\n  {path} = {wrong}\n}}\n"
    problem, span = single(write(tmp_path, main=source), name="x")
    assert problem.code == code and underlined(problem) == EDITED.get(code, wrong) and span.line == 12


@pytest.mark.parametrize("code", ONE)
def test_in_set(tmp_path, code):
    path, wrong = ONE[code]
    sets = ["seed=2", f"{path}={wrong}"]
    problem, span = single(write(tmp_path, main=recipe_text()), name="base", sets=sets)
    assert problem.code == code and span.file == "--set" and span.line == 2
    assert underlined(problem, sets) == EDITED.get(code, wrong)


@pytest.mark.parametrize(("code", "value", "axes"), [
    ("RL203", "1s", {"gate": "clip(odd) + kl(0.1)"}), ("RL204", "-2", {"gate": "clip(odd) + kl(0.1)"}),
    ("RL209", "0", {"gate": "clip(dual: odd) + kl(0.1)"}),
    ("RL208", "0.5", {"feedback": "verify(exact, tolerance: odd) + overlong"}),
])
def test_through_a_let(tmp_path, code, value, axes):
    problem, _ = single(write(tmp_path, main=f"let odd = {value}\n" + recipe_text(**axes)), name="base")
    assert problem.code == code and underlined(problem) == "odd"
    assert [(label.span.line, label.text) for label in problem.labels[1:]] == [(1, "defined here")]


@pytest.mark.parametrize(("code", "body", "wrong"), [
    ("RL201", "modle { x: 1 }", "modle"), ("RL210", "cluster { local, nodes: 2 }", "local"),
    ("RL210", "cluster { nodes: 2, reward: 2, local }", "local"),
    ("RL211", "data { batch_size: 8 }", "batch_size"), ("RL208", "evaluate { every: 5 }", "5"),
    ("RL203", "feedback { timeout: 5 }", "5"), ("RL204", "optim { epochs: 0 }", "0"),
])
@pytest.mark.parametrize("where", ["recipe", "parent", "profile"])
def test_settings(tmp_path, code, body, wrong, where):
    inner = f"profile p {{\n{body}\n}}" if where == "profile" else body
    text = recipe_text(body=inner)
    if where == "parent":
        text += "recipe x extends base { gate.high = 0.3 }\n"
    options = {"profile": "p"} if where == "profile" else {}
    problem, _ = single(write(tmp_path, main=text), name="x" if where == "parent" else "base", **options)
    assert problem.code == code and underlined(problem) == wrong
