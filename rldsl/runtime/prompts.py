"""Where prompts come from, as the runtime sees it: problems by number, and their token ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rldsl.diagnostics import Diagnostic, RecipeError


class Problem(Protocol):
    """One prompt with its reference answer."""

    prompt: str
    answer: str
    metadata: Mapping[str, Any]


class Problems(Protocol):
    """Problems by number, from 0."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Problem: ...


Encode = Callable[[str], tuple[int, ...]]


@dataclass(frozen=True)
class Prompts:
    """The problems of a source that fit; row i is problem `rows[i]` of the source."""

    source: Problems
    encode: Encode
    rows: Sequence[int]
    dropped: int

    def __len__(self) -> int:
        return len(self.rows)

    def problem(self, row: int) -> Problem:
        """The problem of a row."""
        return self.source[self.rows[row]]

    def tokens(self, row: int) -> tuple[int, ...]:
        """The prompt of a row as token ids."""
        return self.encode(self.problem(row).prompt)


def prompts(source: Problems, encode: Encode, limit: int, too_long: str, name: str, most: int | None = None) -> Prompts:
    """All problems (or the first `most`) whose prompt has at most `limit` tokens.

    Longer ones are an error (RL408, counted) or, with `too_long` "drop", left out and counted. Every prompt is
    looked at before anything starts, so that none can stop a run in its middle.
    """
    count = len(source) if most is None else min(most, len(source))
    rows = [i for i in range(count) if len(encode(source[i].prompt)) <= limit]
    if len(rows) < count and too_long == "error":
        raise RecipeError([Diagnostic(
            "RL408", f"{count - len(rows)} of {count} prompts of {name} are longer than {limit} tokens",
            why="a prompt is never cut: what is lost at either end changes the question",
            fix="write data { too_long: drop }, raise model.max_prompt, or lower sampling's max_tokens")])
    if not rows:
        raise RecipeError([Diagnostic("RL408", f"{name} has no prompt of at most {limit} tokens",
                                      fix="raise model.max_prompt or lower sampling's max_tokens")])
    return Prompts(source, encode, rows, count - len(rows))
