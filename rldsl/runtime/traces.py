"""A few responses of a batch as a person can read them: prompt, tokens, parts of the reward, advantage per token.

One page per traced batch in the run's folder, `traces/batch-000020.html`, which the tracker gets as an artifact. A
response is named `BATCH/GROUP.SIBLING`, the same in a run that was resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rldsl.algebra.expr import RESPONSE, mean
from rldsl.algebra.variables import ADVANTAGE, CORRECTION, LOGP_ROLLOUT, REWARD, SCORES

from .batch import Batch
from .prompts import Problem
from .trajectory import Trajectory
from .work import Work

FOLDER = "traces"
SCORE = "score."
BROKEN = "\ufffd"
LONGEST = 4
"""Most tokens that make one piece of text: a character may be spread over as many."""

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Tracing:
    """How many responses are shown of every so many batches, and how ids become text."""

    responses: int
    every: int
    decode: Decode

    def due(self, done: int, last: int) -> bool:
        """Whether the batch after which `done` are trained is shown: the first, each `every`-th and the last."""
        return done == 1 or done % self.every == 0 or done == last


@dataclass(frozen=True)
class Piece:
    """Text of one token, or of the few that make a character. Numbers are of its first token; None where unknown."""

    text: str
    advantage: float
    correction: float | None
    logp: float | None


@dataclass(frozen=True)
class Trace:
    """One response. `parts` is what each source gave, then their sum and the reward after shaping."""

    name: str
    prompt: str
    answer: str
    pieces: tuple[Piece, ...]
    parts: tuple[tuple[str, float], ...]
    finish: str
    versions: tuple[int, int]


def traces(work: Work, tracing: Tracing) -> list[Trace]:
    """Of the responses that advantages were taken over, a few from the highest mean advantage to the lowest."""
    batch = work.statistics
    if batch is None or not batch.lengths:
        return []
    level = batch.math.numbers(batch.value(mean(ADVANTAGE, RESPONSE)).data)
    ranked = sorted(range(len(level)), key=lambda i: (-level[i], i))
    number = min(tracing.responses, len(ranked))
    picked = [ranked[k * (len(ranked) - 1) // max(1, number - 1)] for k in range(number)]
    few = batch.select(picked)
    columns = {name: _per_response(few, name) for name in few.columns if name in TOKEN_COLUMNS}
    shown = [(name, few.math.numbers(few.columns[name].data)) for name in _parts(few)]
    made = []
    for i, row in enumerate(few.rows):
        t = work.trajectories[row]
        parts = tuple((label(name), values[i]) for name, values in shown)
        own = {name: values[i] for name, values in columns.items()}
        made.append(_trace(work.batch + 1, t, work.problems[t.group], parts, _pieces(t, own, tracing.decode)))
    return made


TOKEN_COLUMNS = (ADVANTAGE.name, CORRECTION.name, LOGP_ROLLOUT.name)


def label(column: str) -> str:
    """A part of the reward in words."""
    return {SCORES.name: "scores together", REWARD.name: "reward with shaping"}.get(column, column.removeprefix(SCORE))


def _parts(batch: Batch) -> list[str]:
    sources = [name for name in batch.columns if name.startswith(SCORE)]
    sums = (SCORES.name, REWARD.name) if len(sources) > 1 else (REWARD.name,)
    return [*sources, *(name for name in sums if name in batch.columns)]


def _per_response(batch: Batch, name: str) -> list[list[float]]:
    flat, at, out = batch.math.numbers(batch.columns[name].data), 0, []
    for n in batch.lengths:
        out.append(flat[at:at + n])
        at += n
    return out


def _trace(batch: int, t: Trajectory, problem: Problem, parts: tuple[tuple[str, float], ...],
           pieces: tuple[Piece, ...]) -> Trace:
    return Trace(f"{batch}/{t.group}.{t.sibling}", problem.prompt, problem.answer, pieces, parts, t.finish,
                 (min(t.versions), max(t.versions)))


def _pieces(t: Trajectory, columns: dict[str, list[float]], decode: Decode) -> tuple[Piece, ...]:
    """Tokens whose text is no whole character are put together."""
    found, start = [], 0
    for end in range(1, len(t.tokens) + 1):
        text = decode(t.tokens[start:end])
        if BROKEN in text and end - start < LONGEST and end < len(t.tokens):
            continue
        first = {name: values[start] for name, values in columns.items()}
        found.append(Piece(text, first[ADVANTAGE.name], first.get(CORRECTION.name), first.get(LOGP_ROLLOUT.name)))
        start = end
    return tuple(found)
