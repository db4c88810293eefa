"""How responses are cut into steps, share their beginnings, and are continued: the shapes that sampling can have.

What a choice answers here is data that the plan carries; the runtime grows responses by it and knows no choice.
"""

from __future__ import annotations

from dataclasses import dataclass

from rldsl.algebra.expr import Expr

from .base import Sampler, SamplingStage
from .traits import STEPS


@dataclass(frozen=True)
class Cut:
    """A step ends with the token that completes the text `by`, or after `every` tokens; `grain` is what formulas call
    a step."""

    by: str | None
    every: int | None
    grain: str


@dataclass(frozen=True)
class Fork:
    """After its first `after` steps, a response that goes on gets `times` siblings that share what it wrote so far."""

    after: int
    times: int


@dataclass(frozen=True)
class Branching:
    """After each of its steps, a response that goes on gets another continuation with probability clip(probability +
    weight·(H_step − H_first), 0, 1), H the mean entropy in nats of a step's first `window` tokens; what is missing of
    the group in the end begins with the prompt."""

    probability: float
    weight: float
    window: int


@dataclass(frozen=True)
class Restart:
    """One response to each prompt is only looked at: `probes` continuations of each of its states are scored, and the
    group begins where the step with the largest `choose` begins, the first of them on a tie.

    `choose` is at step grain, over the score of the response and the mean and spread of those of the continuations.
    """

    probes: int
    choose: Expr


@dataclass(frozen=True)
class Begin:
    """Every response continues the first `tokens` tokens of one that `policy` writes to the same prompt."""

    policy: str
    tokens: int


class Structured(Sampler):
    """A sampler whose responses share their beginnings with others, or are continued by them."""

    needs = {STEPS}

    def started(self) -> int:
        """Responses per prompt that are sampled from the prompt itself."""
        return self.siblings()

    def forks(self) -> tuple[Fork, ...]:
        """Where responses fork, the earliest first."""
        return ()

    def branching(self) -> Branching | None:
        """By what chance responses fork after each of their steps; None where they do not."""
        return None

    def continuations(self) -> int:
        """Continuations of each state of each response that are scored and never trained on."""
        return 0

    def restart(self) -> Restart | None:
        """How a place inside a response is found from which the group begins; None begins with the prompt."""
        return None


class Dividing(SamplingStage):
    """A stage that says which units responses come in."""

    def divides(self) -> frozenset[str]:
        """The units."""
        raise TypeError(f"{self.name} divides nothing")

    def cut(self) -> Cut | None:
        """The rule by which the text is cut; None where it is not the text that decides."""
        return None


class Beginning(SamplingStage):
    """A stage that gives every response a beginning that it did not write."""

    def begin(self) -> Begin:
        """Whose, and how much of it."""
        raise TypeError(f"{self.name} begins nothing")
