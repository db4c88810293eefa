"""What structured sampling works with: how responses are grown, what growing needs of a run, what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rldsl.algebra.expr import STEP, TURN

from .cutting import Decode
from .trajectory import Request, Trajectory

Key = tuple[int, int]
"""A response, by its group and sibling."""
State = tuple[int, int, int]
"""The text of a response before one of its steps: group, sibling, step."""
LABELS = {STEP: "steps", TURN: "turns"}
"""The labels of a batch that divide it into the units of a grain."""


class Ask(Protocol):
    """Has requests answered by a policy, with at most so many tokens where that is not the sampler's own limit."""

    def __call__(self, requests: Sequence[Request], *, policy: str = "current",
                 max_tokens: int | None = None) -> list[Trajectory]: ...


@dataclass(frozen=True)
class Tools:
    """What growing needs of a run: answers to requests, the score of each trajectory or None, the text of tokens, the
    policy's entropy in nats at each token, and a number in [0, 1) that is drawn for a response and one of its steps."""

    ask: Ask
    judge: Callable[[Sequence[Trajectory]], Sequence[float | None]]
    decode: Decode
    entropy: Callable[[Sequence[Trajectory]], Sequence[Sequence[float]]]
    chance: Callable[[State], float]


@dataclass(frozen=True)
class Shape:
    """How responses are grown: `Cut`, `Fork`, `Branching`, `Restart` and `Begin` of the plan, as JSON data."""

    siblings: int
    started: int
    cut: Mapping[str, Any] | None = None
    forks: Sequence[Mapping[str, int]] = ()
    branching: Mapping[str, Any] | None = None
    continuations: int = 0
    restart: Mapping[str, Any] | None = None
    begin: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Grown:
    """The responses of a batch with their `labels` per token, and the continuations that are only scored.

    `states` says of each continuation what it continues; responses that share a text share its continuations.
    """

    rows: list[Trajectory]
    labels: dict[str, list[list[int | str]]] = field(default_factory=dict)
    continuations: list[Trajectory] = field(default_factory=list)
    states: dict[Key, tuple[State, ...]] = field(default_factory=dict)


def steps_of(labels: Mapping[str, Any]) -> list[list[int]]:
    """The steps of each response among the labels of a table that was cut."""
    return next(labels[name] for name in LABELS.values() if name in labels)
