"""Where the steps of a response lie, and what of it stands before a place: labels and beginnings, per token."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .trajectory import Prefix, Trajectory

Decode = Callable[[Sequence[int]], str]


def step_labels(cut: Mapping[str, Any], tokens: Sequence[int], decode: Decode) -> list[int]:
    """The number of each token's step, from 0. A token belongs to the step that its text ends in.

    `cut` is a `Cut` of the plan. Tokens are decoded one by one, so a delimiter is found where its characters stand
    whole in the text of their tokens.
    """
    if cut["every"] is not None:
        return [t // cut["every"] for t in range(len(tokens))]
    return _by_text([decode((token,)) for token in tokens], cut["by"])


def _by_text(pieces: Sequence[str], by: str) -> list[int]:
    ends = [match.end() for match in re.finditer(re.escape(by), "".join(pieces))]
    labels, written, step = [], 0, 0
    for piece in pieces:
        labels.append(step)
        before, written = written, written + len(piece)
        step += any(before < end <= written for end in ends)
    return labels


def begins(labels: Sequence[int]) -> list[int]:
    """Where each step begins, as positions of tokens; the first is 0."""
    return [t for t in range(len(labels)) if t == 0 or labels[t] != labels[t - 1]]


def beginning(t: Trajectory, length: int) -> Prefix:
    """The first tokens of a response, as they were sampled."""
    return Prefix(t.tokens[:length], t.logps[:length], t.versions[:length], t.candidates[:length],
                  t.routes[:len(t.prompt) + length - 1])


def own(t: Trajectory, given: Mapping[int, Prefix]) -> Trajectory:
    """The response without what its group began with, which is part of its prompt."""
    n = len(given[t.group].tokens)
    recorded = min(len(t.candidates), len(t.tokens) - n)  # another model's beginning has none
    return replace(t, prompt=t.prompt + t.tokens[:n], tokens=t.tokens[n:], logps=t.logps[n:], versions=t.versions[n:],
                   candidates=t.candidates[len(t.candidates) - recorded:])
