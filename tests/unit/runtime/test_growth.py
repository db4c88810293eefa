"""Responses that share beginnings: who samples what, what is context, what the labels and values are."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from rldsl.algebra.text import to_data
from rldsl.axes.discover import find
from rldsl.runtime.cutting import begins, step_labels
from rldsl.runtime.growth import grow
from rldsl.runtime.structure import Shape, Tools
from rldsl.runtime.trajectory import Request, Trajectory

LETTERS = {"by": None, "every": 2, "grain": "step"}
REQUESTS = [Request(7, 0, (1, 2), 1), Request(8, 1, (3,), 1)]


class Engine:
    """Answers with letters that say who sampled them: sibling s writes the letter number s throughout."""

    def __init__(self, length=6, lengths=None):
        self.length, self.lengths, self.asked = length, lengths or {}, []

    def ask(self, requests, *, policy="current", max_tokens=None):
        self.asked += [(policy, r) for r in requests]
        return [self._answer(r, r.first + i, policy, max_tokens) for r in requests for i in range(r.siblings)]

    def _answer(self, r, sibling, policy, most):
        n = min(self.lengths.get(sibling, self.length), most or 99)
        letter = ord("T") if policy == "teacher" else ord("a") + sibling
        new = max(n - len(r.prefix.tokens), 1)
        tokens = r.prefix.tokens + (letter,) * new
        return Trajectory(r.group, sibling, r.row, r.prompt, tokens, r.prefix.logps + (-1.0 - sibling,) * new,
                          r.prefix.versions + (5,) * new, "length" if n == self.length or most else "stop",
                          decode(tokens))


def decode(tokens):
    return "".join(map(chr, tokens))


def tools(engine, judge=lambda rows: [1.0] * len(rows), entropy=None, chance=lambda state: 0.5):
    entropy = entropy or (lambda rows: [[1.0] * len(t.tokens) for t in rows])
    return Tools(engine.ask, judge, decode, entropy, chance)


def grown(shape, engine=None, **how):
    engine = engine or Engine()
    return grow(shape, REQUESTS, tools(engine, **how)), engine


def texts(out, group=7):
    return [decode(t.tokens) for t in out.rows if t.group == group]


@pytest.mark.parametrize("by, text, labels", [
    ("\n", "ab\nc\n", [0, 0, 0, 1, 1]), ("\n", "abc", [0, 0, 0]), ("\n\n", "a\n\nb\n", [0, 0, 0, 1, 1]),
    ("aa", "aaaab", [0, 0, 1, 1, 2]), ("\n", "\n\nb", [0, 1, 2])])
def test_a_step_ends_with_the_token_that_completes_the_text(by, text, labels):
    assert step_labels({"by": by, "every": None}, [ord(c) for c in text], decode) == labels


def test_a_token_that_ends_two_steps_ends_one():
    """Steps are numbered without gaps, so that a label is a place in the list of steps."""
    labels = step_labels({"by": "\n", "every": None}, (0, 1, 2), lambda ids: ("a", "\n\n", "b")[ids[0]])
    assert labels == [0, 0, 1] and begins(labels) == [0, 2]


def test_steps_of_so_many_tokens():
    assert step_labels({"by": None, "every": 2}, range(5), decode) == [0, 0, 1, 1, 2]
    assert begins([]) == []


def test_a_tree_shares_what_was_written_before_each_fork():
    shape = Shape(8, 2, LETTERS, forks=[{"after": 1, "times": 1}, {"after": 2, "times": 1}])
    out, engine = grown(shape)
    assert texts(out) == ["aaaaaa", "bbbbbb", "aacccc", "bbdddd", "aaaaee", "bbbbff", "aaccgg", "bbddhh"]
    assert [t.sibling for t in out.rows if t.group == 7] == list(range(8))
    assert out.labels["steps"][0] == [0, 0, 1, 1, 2, 2]
    sampled = sum(6 - len(r.prefix.tokens) for _, r in engine.asked for _ in range(r.siblings))
    assert sampled == 2 * (2 * 6 + 2 * 4 + 4 * 2) < 2 * 8 * 6


def test_a_shared_token_keeps_who_sampled_it():
    out, _ = grown(Shape(4, 2, LETTERS, forks=[{"after": 1, "times": 1}]))
    third = out.rows[2]
    assert decode(third.tokens) == "aacccc"
    assert third.logps == (-1.0, -1.0, -3.0, -3.0, -3.0, -3.0) and third.versions == (5,) * 6
    assert third.prompt == (1, 2)


def test_the_state_of_a_part_is_the_text_that_it_begins_with():
    shape = Shape(8, 2, LETTERS, forks=[{"after": 1, "times": 1}, {"after": 2, "times": 1}])
    out, _ = grown(shape)
    before: dict = {}
    for t, states in zip(out.rows, out.labels["states"], strict=True):
        for at in (0, 2, 4):
            before.setdefault((t.group, at, states[at]), set()).add(t.tokens[:at])
    assert all(len(beginnings) == 1 for beginnings in before.values())
    assert len(before) == len({(g, at, *b) for (g, at, _), b in before.items()})


def test_a_response_that_ends_before_it_could_fork_stands_there_as_often():
    out, engine = grown(Shape(4, 2, LETTERS, forks=[{"after": 1, "times": 1}]), Engine(lengths={0: 2}))
    assert texts(out) == ["aa", "bbbbbb", "aa", "bbdddd"]
    assert out.rows[0].logps == out.rows[2].logps and out.labels["states"][2] == ["", ""]
    assert all(r.prefix.tokens[:1] != (ord("a"),) for _, r in engine.asked)


def test_each_state_is_continued_and_a_shared_text_once():
    out, engine = grown(Shape(2, 2, LETTERS, continuations=3))
    asked = [r for _, r in engine.asked if r.prefix.tokens or r.siblings == 3]
    assert [decode(r.prefix.tokens) for r in asked if r.group == 7] == ["", "aa", "aaaa", "bb", "bbbb"]
    assert all(r.siblings == 3 for r in asked) and len(out.continuations) == 2 * 5 * 3
    shared = [states for key, states in out.states.items() if key[0] == 7 and len(states) > 1]
    assert shared == [((7, 0, 0), (7, 1, 0))] * 3
    siblings = [t.sibling for t in out.continuations if t.group == 7]
    assert len(set(siblings)) == len(siblings) and min(siblings) == 2


def test_what_the_teacher_began_is_context():
    shape = Shape(2, 2, LETTERS, begin={"policy": "teacher", "tokens": 3})
    out, engine = grown(shape)
    assert texts(out) == ["aaa", "bbb"] and out.rows[0].prompt == (1, 2, ord("T"), ord("T"), ord("T"))
    assert out.rows[0].text == "TTTaaa" and len(out.rows[0].logps) == 3
    assert out.labels["steps"] == [[0, 0, 1]] * 4
    assert [p for p, _ in engine.asked].count("teacher") == 2


def test_a_teachers_own_end_is_not_given():
    class Ends(Engine):
        def _answer(self, r, sibling, policy, most):
            t = super()._answer(r, sibling, policy, most)
            return Trajectory(**{**t.__dict__, "finish": "stop"})

    out, _ = grown(Shape(1, 1, begin={"policy": "teacher", "tokens": 3}), Ends())
    assert out.rows[0].prompt == (1, 2, ord("T"), ord("T")) and out.labels == {}


def replay(at):
    choice = find("sampling", "replay_prefix")(at, 2, 8, probes=2)
    return Shape(2, 2, LETTERS, restart={"probes": 2, "choose": to_data(choice.restart().choose)})


def by_text(scores):
    """A judge that looks at the first of the given beginnings that a response has; 0 otherwise."""
    def judge(rows):
        asked = []
        for t in rows:
            known = [s for start, s in scores.items() if decode(t.tokens).startswith(start)]
            value = known[-1] if known else 0.0
            asked.append(value.pop(0) if isinstance(value, list) else value)
        return asked
    return judge


def test_a_pivot_is_where_outcomes_differ_most():
    """The source is sibling 2, "cccccc"; its states are "", "cc", "cccc", two probes each."""
    scores = {"": [0.0, 0.0] * 2, "cc": [1.0, 0.0] * 2, "cccc": [1.0, 1.0] * 2, "cccccc": 1.0}
    out, _ = grown(replay("pivot"), judge=by_text(scores))
    assert [decode(t.prompt[2:]) for t in out.rows if t.group == 7] == ["cc", "cc"]
    assert texts(out) == ["aaaa", "bbbb"] and [t.text for t in out.rows][:2] == ["ccaaaa", "ccbbbb"]


def test_the_first_error_is_what_nothing_saves():
    scores = {"": 1.0, "cc": 1.0, "cccc": 0.0, "cccccc": 0.0}
    out, _ = grown(replay("first_error"), judge=by_text(scores))
    assert [decode(t.prompt[2:]) for t in out.rows if t.group == 7] == ["cc", "cc"]


def test_without_an_error_the_prompt_is_where_it_begins():
    out, _ = grown(replay("first_error"), judge=lambda rows: [1.0] * len(rows))
    assert [t.prompt for t in out.rows if t.group == 7] == [(1, 2)] * 2 and texts(out) == ["aaaaaa", "bbbbbb"]


@pytest.mark.parametrize("judge", [lambda rows: [None] * len(rows),
                                   lambda rows: [None if len(rows) < 3 else 1.0 for _ in rows]])
def test_a_missing_score_decides_nothing(judge):
    out, _ = grown(replay("pivot"), judge=judge)
    assert {t.prompt for t in out.rows} == {(1, 2), (3,)}


def test_nobody_draws_what_somebody_else_drew():
    """The source, its probes and the group have different numbers, so their random draws differ."""
    _, engine = grown(replay("pivot"))
    numbers = [(r.group, r.first + i, len(r.prefix.tokens)) for _, r in engine.asked for i in range(r.siblings)]
    assert len({n[:2] for n in numbers}) == len(numbers)


class Dice(Engine):
    """Each new token ends the response with probability 1/4, else it is one of three letters; at most 6 tokens."""

    def __init__(self, seed):
        super().__init__()
        self.draw = Random(seed)

    def _answer(self, r, sibling, policy, most):
        tokens = list(r.prefix.tokens)
        while len(tokens) < 6 and (not tokens or tokens[-1]):
            tokens.append(0 if self.draw.random() < 0.25 else self.draw.choice(range(97, 100)))
        n = len(tokens)
        return Trajectory(r.group, sibling, r.row, r.prompt, tuple(tokens), (0.0,) * n, (0,) * n, "stop", "")


def test_each_response_of_a_tree_is_a_plain_sample_of_the_policy():
    """Length and last letter of every leaf, over 1500 trees, against the distribution that the engine samples from."""
    shape, engine = Shape(8, 2, LETTERS, forks=[{"after": 1, "times": 1}, {"after": 2, "times": 1}]), Dice(3)
    seen = [Counter() for _ in range(8)]
    for _ in range(1500):
        out = grow(shape, REQUESTS[:1], tools(engine))
        for t in out.rows:
            seen[t.sibling][len(t.tokens)] += 1
    exact = {n: 0.25 * 0.75 ** (n - 1) for n in range(1, 6)} | {6: 0.75**5}
    for counts in seen:
        for n, p in exact.items():
            assert abs(counts[n] / 1500 - p) < 4 * math.sqrt(p * (1 - p) / 1500)


BRANCHES = {"probability": 0.5, "weight": 1.0, "window": 2}


def test_a_certain_branch_is_taken_after_each_step_until_the_group_is_full():
    out, _ = grown(Shape(4, 1, LETTERS, branching=BRANCHES), chance=lambda state: 0.0)
    assert texts(out) == ["aaaaaa", "aabbbb", "aaaacc", "aabbdd"]
    assert out.labels["states"][3] == ["", "", "1.0", "1.0", "2.1", "2.1"]
    assert out.labels["states"][2][4] == "2.0" and out.labels["steps"][0] == [0, 0, 1, 1, 2, 2]


def test_without_a_branch_the_group_is_filled_with_fresh_responses():
    out, engine = grown(Shape(3, 1, LETTERS, branching=BRANCHES), chance=lambda state: 0.99)
    assert texts(out) == ["aaaaaa", "bbbbbb", "cccccc"]
    assert not any(r.prefix.tokens for _, r in engine.asked)


def test_risen_entropy_makes_a_branch_likelier():
    """Entropy 1 in the first step, 1.4 in the second: 0.5 + 1·0.4 is above a draw of 0.7, 0.5 is not."""
    rises = lambda rows: [[1.0, 1.0, 1.4, 1.4, 0.0, 0.0] for _ in rows]  # noqa: E731
    out, _ = grown(Shape(2, 1, LETTERS, branching=BRANCHES), chance=lambda state: 0.7, entropy=rises)
    assert texts(out) == ["aaaaaa", "aaaabb"]
