"""One base class per kind of choice: the question its axis answers, and with what.

A choice answers with expressions over `rldsl.algebra.variables`. Everything the compiler must provide for it
(a critic, a reference model, the old policy's log-probs) is read off those expressions. What schedules and
placements answer, with which events and actions, is in `control`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from rldsl.algebra.expr import Const, Expr
from rldsl.algebra.variables import REWARD

from .choice import Choice
from .control import Action as Action
from .control import Event as Event
from .control import Placement as Placement
from .control import Schedule as Schedule
from .quantities import around_one as around_one
from .quantities import binary_kl as binary_kl
from .quantities import kl_estimate as kl_estimate
from .quantities import log_ratio as log_ratio
from .quantities import log_sigmoid as log_sigmoid
from .quantities import margin as margin
from .quantities import mismatch as mismatch
from .quantities import teacher_trust as teacher_trust
from .quantities import trajectory as trajectory
from .traits import LENGTH_LIMIT, ROLLOUT_LOGPS, SIBLINGS, Trait
from .types import Stored

# ── feedback ─────────────────────────────────────────────────────────────────────────────────────────

@dataclass(frozen=True)
class Scorer:
    """A function `(text, answer, metadata, **options) -> float | None`, by dotted name "pkg.mod:fn"."""

    function: str
    options: dict[str, Any] = field(default_factory=dict)


class Reward(Choice):
    """A term of the reward: a source of scores or a shaping."""

    axis = "feedback"


class Source(Reward):
    """A score per response, computed from its text in a killable subprocess."""

    def scorer(self) -> Scorer:
        """Which function scores a response. None from it means “no score”, never 0."""
        raise TypeError(f"{self.name} names no scorer")

    def trusted(self) -> str | None:
        """The package that the project must name under `trust`, or None where the scorer is its choice's own."""
        return None


class Shaping(Reward):
    """A reward computed from the batch's own numbers: per response, per token, or both."""

    def shape(self) -> Expr | None:
        """Response-grain reward added to the scores, or None."""
        return None

    def per_token(self) -> Expr | None:
        """Token-grain reward, or None."""
        return None

    def limit(self) -> int | None:
        """The response length in tokens that the term is about; None where it names none."""
        return None


class Dense(Shaping):
    """A reward in its own right, read off the batch: no score has to stand beside it."""


class Wrapping(Choice):
    """A term around another one, which is scored or computed as if it stood alone."""

    axis = "feedback"

    def inner(self) -> Reward:
        """The other term."""
        raise TypeError(f"{self.name} is around nothing")

    def around(self, reward: Expr) -> Expr:
        """What the inner term's reward becomes, at its own grain."""
        raise TypeError(f"{self.name} makes nothing of a reward")


class Veto(Wrapping):
    """A term that is no reward of its own: where it finds something, the scores of the sources do not count."""

    def around(self, reward: Expr) -> Expr:
        return Const(0.0)

    def factor(self, found: Expr) -> Expr:
        """Response-grain factor on every source's score, from what the inner term scored."""
        raise TypeError(f"{self.name} decides nothing")


class FailureRule(Choice):
    """Says what a response counts for that scoring failed on."""

    axis = "feedback"

    def missing(self) -> float | None:
        """The score in place of a missing one; None leaves the response out."""
        raise TypeError(f"{self.name} says nothing about failures")


class RewardFilter(Choice):
    """Takes responses out of the loss and the denominators."""

    axis = "feedback"

    def stays(self) -> Expr:
        """Response-grain 1/0: whether the response stays."""
        raise TypeError(f"{self.name} says nothing about who stays")

    def before_statistics(self) -> bool:
        """Whether the response also leaves the group's statistics."""
        return False


# ── sampling ─────────────────────────────────────────────────────────────────────────────────────────

class Sampler(Choice):
    """Which trajectories exist for a prompt, and how a token is drawn.

    Concrete samplers carry the shared options temperature, top_p, top_k, max_tokens, stop as parameters.
    """

    axis = "sampling"
    decided_by = {ROLLOUT_LOGPS: "temperature", LENGTH_LIMIT: "max_tokens"}

    @property
    def gives(self) -> frozenset[Trait]:
        """A greedy token has no density, so its recorded log-prob says nothing."""
        siblings = {SIBLINGS} if self.siblings() > 1 else set()
        recorded = {ROLLOUT_LOGPS} if self.temperature > 0 else set()
        return frozenset({LENGTH_LIMIT} | siblings | recorded)

    def siblings(self) -> int:
        """Responses per prompt."""
        return 1

    def greedy(self) -> bool:
        """Whether each prompt is answered once more, without randomness, only to be compared with."""
        return False

    def stored(self) -> Stored | None:
        """Where the responses stand in the data set, or None where the policy writes them."""
        return None

    def provides(self) -> frozenset[str]:
        """Names of the variables it fills beside those that every sampled response has."""
        return frozenset()

    def divides(self) -> frozenset[str]:
        """Units that its responses come in beside responses and groups."""
        return frozenset()


class SamplingStage(Choice):
    """A stage after `|`: which finished groups are kept, which tokens train, how many prompts are drawn."""

    axis = "sampling"

    def keeps(self) -> Expr | None:
        """Group-grain 1/0: whether the group is kept; None keeps every one."""
        return None

    def trains(self) -> Expr | None:
        """Token-grain 1/0, over the whole batch: which tokens have a say; None leaves it to all."""
        return None

    def draws(self) -> float:
        """Prompts drawn for each one that is wanted."""
        return 1.0

    def at_once(self) -> tuple[str, int] | None:
        """(column that names a row's source, most responses of one source in flight), or None."""
        return None

    def rounds(self) -> int | None:
        """Most sampling rounds to refill the batch; None has no bound."""
        return None

    def when_exhausted(self) -> str:
        """What happens when the rounds are used up: "error" or "short_batch"."""
        return "error"


# ── advantage ────────────────────────────────────────────────────────────────────────────────────────

class Estimator(Choice):
    """Turns rewards into a coefficient per token, once over the whole batch."""

    axis = "advantage"

    def estimate(self) -> Expr:
        """The advantage, at response or token grain."""
        raise TypeError(f"{self.name} estimates nothing")

    def value_target(self) -> Expr | None:
        """Token-grain regression target of the critic, or None where there is no critic."""
        return None


class VectorEstimator(Estimator):
    """An estimator that sees the terms of the feedback apart."""

    def combine(self, parts: tuple[tuple[float, Expr], ...]) -> Expr:
        """The advantage, from each term of the reward with its weight; response grain."""
        raise TypeError(f"{self.name} combines nothing")

    def estimate(self) -> Expr:
        """What `combine` gives where the reward has a single term."""
        return self.combine(((1.0, REWARD),))


class Decay(Choice):
    """A parameter of an estimator: how far a TD error reaches back, λ."""

    axis = "decay"

    def value(self) -> Expr:
        """λ, per response or finer."""
        raise TypeError(f"{self.name} decays nothing")


class AdvantageStage(Choice):
    """A stage after `|`: transforms another estimator's advantage."""

    axis = "advantage"

    def transform(self, advantage: Expr) -> Expr:
        """The new advantage."""
        raise TypeError(f"{self.name} transforms nothing")


# ── ratio ────────────────────────────────────────────────────────────────────────────────────────────

class Ratio(Choice):
    """Which probabilities are compared, and at what grain."""

    axis = "ratio"

    def ratio(self) -> Expr | None:
        """r, with gradient through the current policy; None means r ≡ 1."""
        raise TypeError(f"{self.name} compares nothing")


# ── gate ─────────────────────────────────────────────────────────────────────────────────────────────

class Gate(Choice):
    """What happens to an update that strays."""

    axis = "gate"

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        """The term that is maximised, before weights. `r` is None with `ratio = none`."""
        raise TypeError(f"{self.name} has no term")

    def bounds(self) -> dict[str, float]:
        """{parameter: how far from 1 the ratio may go}, for every bound that a ratio can reach."""
        return {}


class Regulariser(Choice):
    """A term added to the gate with `+`; reduced with the recipe's own weights, never with the distribution's."""

    axis = "gate"

    def bonus(self, r: Expr | None) -> Expr:
        """Token-grain term added to the objective (a penalty is negative). `r` is None with `ratio = none`."""
        raise TypeError(f"{self.name} adds nothing")

    def own_weight(self) -> Expr | None:
        """Token weights of its own over the whole update, or None: the recipe's reduction weighs it."""
        return None


# ── reduction ────────────────────────────────────────────────────────────────────────────────────────

class Reduction(Choice):
    """Who gets how much say: the weight of every token in the whole update."""

    axis = "reduction"
    uniform_groups: Literal["count", "exclude"] = "count"  # groups whose advantages are all 0, in denominators

    def weight(self, live: Expr) -> Expr:
        """Token weights. `live` is 1 for each response that counts in the denominators, else 0 (response grain)."""
        raise TypeError(f"{self.name} weighs nothing")


# ── distribution ─────────────────────────────────────────────────────────────────────────────────────

class Distribution(Choice):
    """Corrects for engine mismatch and policy lag, or says which data may be used."""

    axis = "distribution"

    def correction(self) -> Expr:
        """A constant factor per token, over the whole batch; may read the advantage."""
        return Const(1.0)

    def counts(self) -> Expr | None:
        """Token-grain 1/0: which tokens stay in the denominators; None where all of them do."""
        return None

    def stays(self) -> Expr | None:
        """Response-grain 1/0: whether the response may be used; None where every one may."""
        return None

    def admits(self) -> int | None:
        """Most batches' worth of prompts that may wait in the pool, begun and not yet trained; None has no bound."""
        return None

    def survives(self) -> int | None:
        """How often a response may be cut short and taken up again before it is given up; None has no bound."""
        return None


class Mask(Distribution):
    """A correction that drops: by itself 1 for what is kept, else 0.

    Each mask ends with the parameter `denominator`: `all` leaves what is dropped in every denominator, `kept` takes
    it out.
    """

    def keeps(self) -> Expr:
        """1/0 per token or response."""
        raise TypeError(f"{self.name} keeps nothing")

    def correction(self) -> Expr:
        return self.keeps()

    def counts(self) -> Expr | None:
        return self.keeps() if self.denominator == "kept" else None


# ── beside the axes ──────────────────────────────────────────────────────────────────────────────────

class Optimizer(Choice):
    """A member of the `optim` block's optimizer family."""

    axis = "optimizer"

    def factory(self) -> tuple[str, dict[str, Any]]:
        """The torch class by dotted name "pkg.mod:Class", and its keyword arguments."""
        raise TypeError(f"{self.name} builds nothing")

    def trains(self) -> bool:
        """Whether it takes steps at all; without any, no gradient is computed either."""
        return True

    def slots(self) -> int:
        """Numbers that the optimizer keeps for each parameter, beside the parameter and its gradient."""
        return 0


class Latency(Choice):
    """How long a response takes from its first token to its last, tools and environment included; for simulations."""

    axis = "latency"

    def quantile(self, share: float) -> float:
        """The seconds within which this share of the responses ends; 0 < share < 1."""
        raise TypeError(f"{self.name} takes no time")

    def mean(self) -> float:
        """Mean seconds; infinite where the tail is that long."""
        raise TypeError(f"{self.name} takes no time")
