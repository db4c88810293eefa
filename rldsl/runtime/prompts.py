"""Where prompts come from, as the runtime sees it: problems by number, and their token ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rldsl.axes.types import Stored
from rldsl.diagnostics import Diagnostic, RecipeError

from .cutting import Decode
from .stored import StoredError, stored_texts, trajectories
from .trajectory import Request, Trajectory


class Problem(Protocol):
    """One prompt with its reference answer."""

    id: str
    prompt: str
    answer: str
    metadata: Mapping[str, Any]


class Problems(Protocol):
    """Problems by number, from 0."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Problem: ...


SHOWN = 5
"""Rows that a message about many wrong rows names."""
Encode = Callable[[str], tuple[int, ...]]


@dataclass(frozen=True)
class Prompts:
    """The problems of a source that fit; row i is problem `rows[i]` of the source.

    `stored` says where the responses are that the source holds, if any; `respond` gives a response's ids, end of
    sequence included. `decode` gives the text of ids; only what cuts responses by their text asks for it.
    """

    source: Problems
    encode: Encode
    rows: Sequence[int]
    dropped: int
    stored: Stored | None = None
    respond: Encode | None = None
    decode: Decode | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def problem(self, row: int) -> Problem:
        """The problem of a row."""
        return self.source[self.rows[row]]

    def tokens(self, row: int) -> tuple[int, ...]:
        """The prompt of a row as token ids."""
        return self.encode(self.problem(row).prompt)

    def responses(self, group: int, row: int, version: int) -> list[Trajectory]:
        """The stored responses to a row's prompt as the members of a group."""
        texts = stored_texts(self.problem(row), self.stored)
        return trajectories(texts, self.respond, Request(group, row, self.tokens(row), len(texts)), version)


def prompts(source: Problems, encode: Encode, limit: int, too_long: str, name: str, most: int | None = None) -> Prompts:
    """All problems (or the first `most`) whose prompt has at most `limit` tokens.

    Longer ones are an error (RL408, counted) or, with `too_long` "drop", left out and counted. Every prompt is
    looked at before anything starts, so that none can stop a run in its middle.
    """
    count = len(source) if most is None else min(most, len(source))
    rows = [i for i in range(count) if len(_encoded(source[i], encode)) <= limit]
    if len(rows) < count and too_long == "error":
        raise RecipeError([Diagnostic(
            "RL408", f"{count - len(rows)} of {count} prompts of {name} are longer than {limit} tokens",
            why="a prompt is never cut: what is lost at either end changes the question",
            fix="write data { too_long: drop }, raise model.max_prompt, or lower sampling's max_tokens")])
    if not rows:
        raise RecipeError([Diagnostic("RL408", f"{name} has no prompt of at most {limit} tokens",
                                      fix="raise model.max_prompt or lower sampling's max_tokens")])
    return Prompts(source, encode, rows, count - len(rows))


def _encoded(problem: Problem, encode: Encode) -> tuple[int, ...]:
    """The prompt as token ids; what cannot be encoded is said of its problem."""
    try:
        return encode(problem.prompt)
    except RecipeError as error:
        raise RecipeError([replace(d, message=f"In {problem.id}: {d.message}") for d in error.diagnostics]) from None


def with_stored(data: Prompts, stored: Stored, respond: Encode, limit: int, too_long: str, name: str) -> Prompts:
    """The same problems with the responses that their rows hold, each of at most `limit` tokens.

    RecipeError RL407 names the first rows whose responses cannot be read; longer responses are RL408, or with
    `too_long` "drop" their rows are left out.
    """
    rows, wrong, long = [], [], 0
    for row in data.rows:
        try:
            texts = stored_texts(data.source[row], stored)
        except StoredError as error:
            wrong.append(f"row {row + 1}: {error}")
            continue
        if all(len(respond(text)) <= limit for text, _ in texts):
            rows.append(row)
        else:
            long += 1
    if wrong:
        raise RecipeError([_unreadable(name, wrong, len(data.rows))])
    if long and (too_long == "error" or not rows):
        raise RecipeError([Diagnostic(
            "RL408", f"{long} of {len(data.rows)} rows of {name} hold responses longer than {limit} tokens",
            why="a response is never cut: its end would be learned from as if it stood there",
            fix="raise sampling's max_tokens, or write data { too_long: drop }")])
    return replace(data, rows=rows, dropped=data.dropped + long, stored=stored, respond=respond)


def _unreadable(name: str, wrong: Sequence[str], total: int) -> Diagnostic:
    return Diagnostic("RL407", f"{len(wrong)} of {total} rows of {name} hold no response that can be learned from",
                      why="; ".join(wrong[:SHOWN]),
                      fix="name the columns in the sampler, or correct the rows")
