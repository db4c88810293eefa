"""What a model says of responses: questions are written, asked in one batch, and read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rldsl.axes.judging import Asked, filled

from .protocols import Cutting, TrainEngine
from .tournament import win_rates

Said = list[float | None]


@dataclass(frozen=True)
class Candidate:
    """A response to be judged: its texts, its length in tokens and its group."""

    prompt: str
    text: str
    answer: str
    length: int
    group: int


def ask(engine: TrainEngine, asked: Asked, candidates: Sequence[Candidate], cutting: Cutting) -> Said:
    """A score for each candidate; None where a question does not fit the model's context."""
    if not candidates:
        return []
    match asked.form:
        case "value":
            return engine.valued([(c.prompt, c.text) for c in candidates], cutting)
        case "questions":
            return _questions(engine, asked, candidates, cutting)
        case "reference":
            pairs = [(c, Candidate(c.prompt, c.answer, c.answer, 0, c.group)) for c in candidates]
            return _preferred(engine, asked, pairs, cutting)
    return _tournament(engine, asked, candidates, cutting)


def _questions(engine: TrainEngine, asked: Asked, candidates: Sequence[Candidate], cutting: Cutting) -> Said:
    """The mean confidence over the questions."""
    texts = [_filled(q, c, c) for c in candidates for q in asked.questions]
    said, count = confidence(engine, asked, texts, cutting), len(asked.questions)
    each = [said[i * count:(i + 1) * count] for i in range(len(candidates))]
    return [None if None in own else sum(own) / count for own in each]


def _preferred(engine: TrainEngine, asked: Asked, pairs: Sequence[tuple[Candidate, Candidate]],
               cutting: Cutting) -> Said:
    """How far the first of each pair is preferred, whichever stands first in the question."""
    question = asked.questions[0]
    texts = [text for one, other in pairs for text in (_filled(question, one, other), _filled(question, other, one))]
    said = confidence(engine, asked, texts, cutting)
    return [_verdict(asked, one, other, said[2 * i], said[2 * i + 1]) for i, (one, other) in enumerate(pairs)]


def _verdict(asked: Asked, one: Candidate, other: Candidate, there: float | None, back: float | None) -> float | None:
    long = [asked.longest is not None and c.length > asked.longest for c in (one, other)]
    if long[0] != long[1]:
        return 0.0 if long[0] else 1.0
    return None if there is None or back is None else (there + 1 - back) / 2


def _tournament(engine: TrainEngine, asked: Asked, candidates: Sequence[Candidate], cutting: Cutting) -> Said:
    """Each candidate's win rate in its group; a group with a comparison that failed has no scores."""
    groups: dict[int, list[int]] = {}
    for index, c in enumerate(candidates):
        groups.setdefault(c.group, []).append(index)
    games = [(i, j) for members in groups.values() for a, i in enumerate(members) for j in members[a + 1:]]
    said = dict(zip(games, _preferred(engine, asked, [(candidates[i], candidates[j]) for i, j in games], cutting),
                    strict=True))
    out: Said = [None] * len(candidates)
    for members in groups.values():
        if any(said[i, j] is None for a, i in enumerate(members) for j in members[a + 1:]):
            continue
        won = [[0.0 if i == j else said[i, j] if i < j else 1 - said[j, i] for j in members] for i in members]
        for i, rate in zip(members, win_rates(won), strict=True):
            out[i] = rate
    return out


def _filled(question: str, one: Candidate, other: Candidate) -> str:
    return filled(question, prompt=one.prompt, response=one.text, answer=one.answer, other=other.text)


def confidence(engine: TrainEngine, asked: Asked, questions: Sequence[str], cutting: Cutting) -> Said:
    """P(first word)/(P(first word) + P(second word)) as the reply to each question; equal questions are asked once."""
    distinct = list(dict.fromkeys(questions))
    logps = engine.replies(asked.role, [(q, word) for q in distinct for word in asked.words], cutting)
    found = {q: _share(logps[2 * i], logps[2 * i + 1]) for i, q in enumerate(distinct)}
    return [found[q] for q in questions]


def _share(yes: float | None, no: float | None) -> float | None:
    if yes is None or no is None:
        return None
    gap = no - yes
    return 1 / (1 + math.exp(gap)) if gap < 0 else math.exp(-gap) / (1 + math.exp(-gap))
