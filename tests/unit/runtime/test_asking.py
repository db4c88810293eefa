"""Questions to models: how texts are put together, what becomes of replies, and how a tournament is settled."""

from __future__ import annotations

import math
import random

import pytest

from rldsl.axes.judging import Asked, filled, wrong_question
from rldsl.runtime.asking import Candidate, ask
from rldsl.runtime.protocols import Cutting
from rldsl.runtime.tournament import strengths, win_rates

CUT = Cutting(None, True, True)


class Oracle:
    """Replies with a text's likelihood from a function of the question; remembers what it was asked."""

    def __init__(self, likes):
        self.likes, self.asked = likes, []

    def replies(self, role, asked, cutting):
        self.asked.append((role, asked))
        return [None if (p := self.likes(q)) is None else math.log(p if word == "1" else 1 - p) for q, word in asked]

    def valued(self, responses, cutting):
        return [float(len(text)) for _, text in responses]


def candidates(*texts, lengths=None, group=0, answer="ref"):
    sizes = lengths or [len(t) for t in texts]
    return [Candidate("p", t, answer, n, group) for t, n in zip(texts, sizes, strict=True)]


def test_fields_are_filled_once_and_texts_with_braces_mean_nothing():
    assert filled("{prompt}|{response}", prompt="{response}", response="x") == "{response}|x"


def test_a_question_names_what_is_judged_and_asks_something():
    assert wrong_question("{prompt} {other}", "other") is None and wrong_question("{response}?", "response") is None
    assert "in braces" in wrong_question("{question}") and "in braces" in wrong_question("open {")
    assert wrong_question("{prompt}?", "response", "other") == "must name {response} and {other}"
    assert wrong_question("{response} ", "response") == "must ask something about {response}"


def test_a_rubric_is_the_mean_of_its_items():
    engine = Oracle(lambda q: 0.9 if q.endswith("right?") else 0.5)
    asked = Asked("judge", "questions", ("{prompt}{response} right?", "{response} short?"), ("1", "2"))
    assert ask(engine, asked, candidates("a", "b"), CUT) == pytest.approx([0.7, 0.7])
    asked_for = ("pa right?", "a short?", "pb right?", "b short?")
    assert engine.asked[0] == ("judge", [(q, w) for q in asked_for for w in "12"])


def test_what_does_not_fit_has_no_score():
    engine = Oracle(lambda q: None if "long" in q else 0.5)
    asked = Asked("judge", "questions", ("{response}?",), ("1", "2"))
    assert ask(engine, asked, candidates("short", "long"), CUT) == [0.5, None]


QUESTION = "1:{response} 2:{other}"


def better(q):
    """Prefers the longer text, and the first of two equals with 0.8: an order that should not matter."""
    one, other = (len(part.partition(":")[2]) for part in q.split(" "))
    return min(0.99, max(0.01, 0.5 + 0.1 * (one - other) + 0.3 * (one == other)))


def test_both_orders_are_asked_so_that_the_place_does_not_count():
    asked = Asked("judge", "reference", (QUESTION,), ("1", "2"))
    assert ask(Oracle(better), asked, candidates("abc", "ab", "abcd"), CUT) == pytest.approx([0.5, 0.4, 0.6])


def test_too_long_loses_to_what_is_not():
    asked = Asked("judge", "reference", (QUESTION,), ("1", "2"), longest=3)
    assert ask(Oracle(better), asked, candidates("abcd", "abc"), CUT) == pytest.approx([0.0, 0.5])
    both = Asked("judge", "tournament", (QUESTION,), ("1", "2"), longest=3)
    found = ask(Oracle(better), both, candidates("abcd", "abcde", "a"), CUT)
    assert found[2] == pytest.approx(1.0, abs=1e-3)
    assert found[0] < found[1] < 0.5  # the two that are too long are still compared


def test_a_tournament_stays_in_its_group_and_a_failure_costs_its_group_only():
    asked = Asked("judge", "tournament", (QUESTION,), ("1", "2"))
    texts = [*candidates("a", "abc", group=1), *candidates("x", "xx", "xxx", group=2)]
    found = ask(Oracle(better), asked, texts, CUT)
    assert found[0] == pytest.approx(0.3) and found[1] == pytest.approx(0.7)
    assert found[2] < found[3] < found[4] and found[3] == pytest.approx(0.5, abs=1e-6)
    broken = ask(Oracle(lambda q: None if "xxx" in q else better(q)), asked, texts, CUT)
    assert broken[:2] == found[:2] and broken[2:] == [None] * 3


def test_a_value_is_asked_for_directly():
    assert ask(Oracle(None), Asked("reward", "value"), candidates("ab", "abc"), CUT) == [2.0, 3.0]
    assert ask(Oracle(None), Asked("reward", "value"), [], CUT) == []


def test_strengths_are_those_that_the_results_came_from():
    true = [0.1, 0.2, 0.3, 0.4]
    won = [[0.0 if i == j else a / (a + b) for j, b in enumerate(true)] for i, a in enumerate(true)]
    assert strengths(won) == pytest.approx(true, abs=1e-8)
    rates = win_rates(won)
    assert rates == pytest.approx([sum(a / (a + b) for j, b in enumerate(true) if j != i) / 3
                                   for i, a in enumerate(true)])


def test_strengths_maximise_the_likelihood():
    draw = random.Random(3)
    won = [[0.0] * 5 for _ in range(5)]
    for i in range(5):
        for j in range(i + 1, 5):
            won[i][j] = draw.uniform(0.05, 0.95)
            won[j][i] = 1 - won[i][j]

    def likelihood(s):
        return sum(won[i][j] * math.log(s[i] / (s[i] + s[j])) for i in range(5) for j in range(5) if i != j)

    best = strengths(won)
    for i in range(5):
        for factor in (0.99, 1.01):
            assert likelihood([x * factor if k == i else x for k, x in enumerate(best)]) < likelihood(best)


@pytest.mark.parametrize("won, rates", [([[0.0]], [0.5]), ([[0, 1], [0, 0]], [1.0, 0.0]),
                                        ([[0, 0.5, 1], [0.5, 0, 1], [0, 0, 0]], [0.75, 0.75, 0.0])])
def test_what_never_wins_has_no_strength(won, rates):
    assert win_rates(won) == pytest.approx(rates)
