"""Scorers on the texts that break scorers."""

from fractions import Fraction

import pytest

from rldsl.environments import verifiers
from rldsl.environments.tasks import load_task
from rldsl.environments.verifiers.extract import extract
from rldsl.environments.verifiers.number import parse_number


@pytest.mark.parametrize(("text", "number"), [
    ("1,234", 1234), ("so 1,234,567.5.", Fraction("1234567.5")), ("−5", -5), ("x=-5", -5), ("3.0", 3),
    ("1e3", 1000), ("2.5E-1", Fraction(1, 4)), ("3/4.", Fraction(3, 4)), ("5-3", 3), ("5 - 3", 3),
    ("3, 5", 5),
    ("1,2,3", 3), ("...5", 5), (".5", Fraction(1, 2)), ("答案是42。", 42), ("5 m2", 5), ("$1,234", 1234),
    ("**7**", 7), ("7%", 7), ("007", 7)])
def test_last_number(text, number):
    assert parse_number(extract(text, "last_number")) == number


@pytest.mark.parametrize("text", ["", "no number", "x2", "\n"])
def test_no_number(text):
    assert extract(text, "last_number") is None
    assert verifiers.numeric(text, "5", {}) == 0.0


def test_first_number():
    assert extract("12 then 13", "first_number") == "12"


@pytest.mark.parametrize(("text", "inside"), [
    (r"\boxed{1} or \boxed{2}", "2"), (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),
    (r"\boxed{5} \boxed{6", "5"), (r"\boxed{\{1\}}", r"\{1\}"), (r"\boxed {x}", "x"), (r"\fbox \boxed{}", ""),
    (r"} \boxed{1}", "1"), (r"\boxed{\boxed{2}}", "2"), (r"\\boxed{4}", "4"), (r"\boxed{a{b}", None),
    ("", None)])
def test_boxed(text, inside):
    assert extract(text, "boxed") == inside


def test_boxed_is_linear_in_the_text():
    assert extract("\\boxed{" * 200_000, "boxed") is None


def test_extraction_by_pattern():
    assert extract("Answer: 3\nAnswer: 4", r"Answer:\s*(\S+)") == "4"
    assert extract("abc", "b.") == "bc"
    assert extract("abc", "z") is None
    with pytest.raises(ValueError, match="not a regular expression"):
        extract("abc", "(")


@pytest.mark.parametrize(("text", "answer", "score"), [
    ("It is 1,000.", "1000", 1.0), ("-5", "−5", 1.0), ("0.5", "1/2", 1.0), ("0.5", r"\frac{1}{2}", 1.0),
    ("1e3", "1000", 1.0), ("6", "5", 0.0), ("1/0", "5", 0.0), ("9" * 1000, "9", 0.0)])
def test_numeric(text, answer, score):
    assert verifiers.numeric(text, answer, {}) == score


def test_numeric_tolerance_is_relative_above_one_and_exact_at_zero():
    assert verifiers.numeric("0.333", "1/3", {}) == 0.0
    assert verifiers.numeric("0.333", "1/3", {}, tolerance=1e-3) == 1.0
    assert verifiers.numeric("1000001", "1000000", {}) == 1.0
    assert verifiers.numeric("1000002", "1000000", {}) == 0.0
    assert verifiers.numeric("0.1000000000000000001", "0.1", {}, tolerance=0) == 0.0
    assert verifiers.numeric(r"\boxed{\frac{1}{3}}", "1/3", {}, extract="boxed") == 1.0


def test_a_reference_that_is_no_number_is_a_failure_not_a_score():
    with pytest.raises(ValueError, match="not a number"):
        verifiers.numeric("5", "five", {})


def test_exact():
    assert verifiers.exact(" 19\n", "19", {}) == 1.0
    assert verifiers.exact("19.", "19", {}) == 0.0
    assert verifiers.exact("", "19", {}) == 0.0


def test_regex():
    assert verifiers.regex("<think>a\nb</think> 7", "7", {}, pattern=r"</think>\s*{answer}$") == 1.0
    assert verifiers.regex("1a", "1.", {}, pattern="{answer}") == 0.0


@pytest.mark.parametrize(("text", "answer", "score"), [
    ('{"b": [true], "a": 1.0}', '{"a": 1, "b": [true]}', 1.0), ("1", "true", 0.0), ("[1, 2]", "[2, 1]", 0.0),
    ("{", "{}", 0.0), ("", "{}", 0.0), ("NaN", "1", 0.0), ("[" * 100_000, "[]", 0.0)])
def test_json(text, answer, score):
    assert verifiers.json(text, answer, {}) == score


def test_json_reference_must_be_json():
    with pytest.raises(ValueError, match="not JSON"):
        verifiers.json("{}", "{", {})


@pytest.mark.parametrize(("text", "answer", "score"), [
    (r"thus \boxed{\frac{2}{4}}", "1/2", 1.0), (r"\boxed{(x+1)^2}", "x^2+2x+1", 1.0),
    (r"\boxed{3}", "4", 0.0),
    ("no box", "4", 0.0), (r"\boxed{}", "4", 0.0)])
def test_math(text, answer, score):
    assert verifiers.math(text, answer, {}) == score


def test_math_finds_the_expression_itself_when_asked():
    assert verifiers.math("it is $x^2$", "x^2", {}, extract="all") == 1.0
    with pytest.raises(ValueError, match="cannot parse"):
        verifiers.math(r"\boxed{1}", "", {})


def test_own_scorer():
    toy = load_task("toy:addition", "train", seed=0)[0]
    assert verifiers.task(toy.answer, toy.answer, toy.metadata) == 1.0
    gym = load_task("gym:chain_sum", "train", seed=0)[0]
    assert verifiers.task(gym.answer, gym.answer, gym.metadata) == 1.0
    assert verifiers.task("nonsense", gym.answer, gym.metadata) < 1.0
    with pytest.raises(ValueError, match="no scorer of its own"):
        verifiers.task("x", "x", {})
