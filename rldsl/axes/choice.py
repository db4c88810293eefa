"""The base of every choice, and the worked examples that each choice file carries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rldsl.algebra import variables
from rldsl.algebra.expr import Expr

from .traits import Trait
from .types import SameAs


class Choice:
    """One idea on one axis. Subclasses become frozen dataclasses of their typed parameters.

    The file's name is the choice's name in the language; the class in it is found by its base. `positional`
    says how many leading fields may be given without a name. `version` rises when a shipped meaning changes.
    `needs` and `gives` are sets of traits, or a property where they depend on the parameters; `decided_by` then
    names the parameter: {trait: parameter}. Diagnostics point at it. `state` is {name: value before the first batch}
    of the numbers that the choice carries from batch to batch, or a property; `next_state` says what becomes of them as
    the batch begins, `state_after` of those that the batch's updates decide. `engine` says in words what a run needs
    beside models and scorers.
    """

    axis: ClassVar[str] = ""
    positional: ClassVar[int] = 0
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Trait]] = frozenset()
    gives: ClassVar[frozenset[Trait]] = frozenset()
    decided_by: ClassVar[Mapping[Trait, str]] = {}
    state: ClassVar[Mapping[str, float]] = {}
    engine: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for traits in ("needs", "gives"):
            if not isinstance(getattr(cls, traits), property):
                setattr(cls, traits, frozenset(getattr(cls, traits)))
        inherited = (getattr(c, "decided_by", {}) for c in reversed(cls.__mro__))
        cls.decided_by = {trait: parameter for part in inherited for trait, parameter in part.items()}
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, SameAs):
                object.__setattr__(self, f.name, getattr(self, value.field))

    def carried(self, name: str) -> Expr:
        """The present value of a number in `state`, update grain."""
        return variables.state(self.name, name)

    def next_state(self) -> dict[str, Expr]:
        """What each number in `state` is for the next batch: update grain, over the whole batch."""
        return {}

    def state_after(self) -> dict[str, Expr]:
        """The same for numbers that are known only once the batch is trained: log π_θ is then the new policy's."""
        return {}

    def check(self) -> dict[str, str]:
        """Bounds between this choice's own parameters: {parameter: what must hold}. Reported as RL204."""
        return {}

    def unread(self) -> dict[str, str]:
        """Parameters that these other values leave without effect: {parameter: what would read it} (RL208)."""
        return {}

    @property
    def name(self) -> str:
        """The name in the language: the file's name."""
        return type(self).__module__.rpartition(".")[2].removesuffix("_")


@dataclass(frozen=True)
class Example:
    """A worked number: the choice with `params`, on a tiny batch, must give `expect`.

    `batch` holds what `probe` takes per response (for a source: text and answer; for a schedule: events). `expect`
    maps an output to its value: objective; or per response advantage, ratio, weight, correction, gradient (lists
    per token, or one number that every token has), reward, kept; for a source scores; for a schedule actions.
    The other axes are `monte_carlo`, `token(current / old)`, gate `none`, `sequence_sum`, `on_policy` unless
    `beside` says otherwise.
    """

    says: str
    params: dict[str, Any] = field(default_factory=dict)
    batch: list[dict[str, Any]] = field(default_factory=list)
    expect: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    """Other axes where the example needs something other than the plain ones, as recipe text."""
    trainer_version: int | None = None
    tolerance: float = 1e-6


def tokens(*ratios: float, reward: float = 1.0, **more: Any) -> dict[str, Any]:
    """A response with one token per ratio, current/old and current/rollout alike, for examples."""
    n = len(ratios)
    return {"prompt": "p", "reward": reward, "logp_current": [math.log(r) - 1.0 for r in ratios],
            "logp_old": [-1.0] * n, "logp_rollout": [-1.0] * n, **more}


def one_token(ratio: float = 1.0, reward: float = 1.0, **more: Any) -> dict[str, Any]:
    """A response of one token, for examples."""
    return tokens(ratio, reward=reward, **more)


def rewards(*values: float | None, prompt: str = "p") -> list[dict[str, Any]]:
    """One single-token response per reward, all siblings of one prompt, at ratio 1, for examples."""
    return [{**one_token(reward=0.0), "prompt": prompt, "reward": v} for v in values]
