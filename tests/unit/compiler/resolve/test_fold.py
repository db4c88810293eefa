"""Constants: `let`, units, arithmetic and comparison."""

import pytest

from .project import errors, found, recipe_text, typed, write


def tokens(tmp_path, expression, lets=""):
    """What `max_tokens` becomes."""
    text = lets + "\n" + recipe_text(sampling=f"group(8, max_tokens: {expression})")
    return typed(tmp_path, text).sampling[0].choice.max_tokens


@pytest.mark.parametrize(("expression", "value"), [
    ("20k + 480", 20480), ("2 * 3 + 4", 10), ("2 + 3 * 4", 14), ("10 / 2", 5), ("7 / 2 * 2", 7), ("1.5k", 1500),
    ("(1 + 2) * 100", 300), ("-3 + 10", 7), ("10 - 2 - 3", 5), ("50% * 200", 100), ("1M / 1k", 1000),
])
def test_arithmetic_is_exact(tmp_path, expression, value):
    result = tokens(tmp_path, expression)
    assert result == value and isinstance(result, int)


def test_lets_may_use_each_other_in_any_order(tmp_path):
    assert tokens(tmp_path, "total", "let total = half + half\nlet half = 4k") == 8000


@pytest.mark.parametrize(("timeout", "seconds"), [("30s", 30), ("2min", 120), ("1h / 2", 1800), ("10s + 1min", 70)])
def test_times_are_seconds(tmp_path, timeout, seconds):
    recipe = typed(tmp_path, recipe_text(body=f"feedback {{ timeout: {timeout} }}"))
    assert recipe.settings.feedback.timeout == seconds


def test_percent_is_a_fraction(tmp_path):
    recipe = typed(tmp_path, recipe_text(body="feedback { max_failed: 5% }"))
    assert recipe.settings.feedback.max_failed == 0.05


@pytest.mark.parametrize(("expression", "code", "text"), [
    ("20k + 30s", "RL203", "20k + 30s"),
    ("3s * 2s", "RL203", "3s * 2s"),
    ("10 / (5 - 5)", "RL204", "(5 - 5)"),
    ('"a" + 1', "RL203", '"a" + 1'),
    ("1 < 2s", "RL203", "1 < 2s"),
    ("not 3", "RL203", "not 3"),
    ("1 and true", "RL203", "1 and true"),
    ("group < 3", "RL203", "group < 3"),
    ("1e200 * 1e200", "RL204", "1e200 * 1e200"),
])
def test_nonsense_is_refused_where_it_stands(tmp_path, expression, code, text):
    assert (code, text.strip("()")) in [(c, t.strip("()")) for c, t in found(
        tmp_path, recipe_text(sampling=f"group(8, max_tokens: {expression})"))]


def test_a_comparison_is_true_or_false(tmp_path):
    text = "let long = 20k > 4k\n" + recipe_text(sampling="group(8, max_tokens: long)")
    assert found(tmp_path, text) == [("RL203", "long")]


def test_the_place_of_a_let_is_shown_beside_its_use(tmp_path):
    text = "let n = -1\n" + recipe_text(sampling="group(n, max_tokens: 8)")
    problem, = errors(write(tmp_path, main=text))
    assert problem.code == "RL204"
    assert [(label.span.line, label.primary) for label in problem.labels] == [(3 + 1, True), (1, False)]


def test_a_let_is_a_constant(tmp_path):
    assert found(tmp_path, "let g = clip(0.2)\n" + recipe_text()) == [("RL203", "clip(0.2)")]


def test_a_circle_of_lets_is_shown(tmp_path):
    problem, = errors(write(tmp_path, main="let a = b\nlet b = a\n" + recipe_text()))
    assert problem.code == "RL206" and len(problem.labels) == 2


def test_a_wrong_let_is_reported_once(tmp_path):
    text = "let n = 3s + 1\n" + recipe_text(sampling="group(n, max_tokens: n)")
    assert found(tmp_path, text) == [("RL203", "3s + 1")]


def test_long_chains_of_lets_are_refused_not_a_crash(tmp_path):
    lets = "let a0 = 1\n" + "".join(f"let a{i} = a{i - 1}\n" for i in range(1, 3000))
    assert {code for code, _ in found(tmp_path, lets + recipe_text())} == {"RL103"}


def test_lists_of_lists_cannot_grow(tmp_path):
    lets = "let a0 = [1]\n" + "".join(f"let a{i} = [a{i - 1}, a{i - 1}]\n" for i in range(1, 60))
    assert ("RL203", "[a0, a0]") in found(tmp_path, lets + recipe_text())
