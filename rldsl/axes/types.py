"""Typed, bounded parameters. A parameter's annotation says its Python type, bounds, unit and special words.

    low: NonNegative = 0.2
    cap: Annotated[float, Bound(gt=0)] = 2.0
    max_tokens: Tokens                      # no default: must be written
    dual: Optional[Annotated[float, Bound(gt=1)]] = None      # `none` in the language
    grain: Literal["token", "response"] = "token"             # words
    band: Band = Band(0.5, 5.0)             # a range `0.5..5.0`
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal


@dataclass(frozen=True)
class Bound:
    """Open and closed limits on a number; a finite value is always required."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    def broken(self, x: float) -> str | None:
        """The limit that x breaks, in words, or None."""
        if not math.isfinite(x):
            return "must be finite"
        if self.gt is not None and not x > self.gt:
            return f"must be greater than {self.gt:g}"
        if self.ge is not None and not x >= self.ge:
            return f"must be at least {self.ge:g}"
        if self.lt is not None and not x < self.lt:
            return f"must be less than {self.lt:g}"
        if self.le is not None and not x <= self.le:
            return f"must be at most {self.le:g}"
        return None


@dataclass(frozen=True)
class Unit:
    """The unit a plain number is in: tokens, prompts, responses, batches, updates, seconds, bytes, fraction…"""

    name: str


@dataclass(frozen=True)
class TermName:
    """Marks a text that names a source of the recipe's feedback, written as a plain name."""


@dataclass(frozen=True)
class Band:
    """A closed range `low..high` of real numbers."""

    low: float
    high: float


@dataclass(frozen=True)
class Policies:
    """`current / old`: the two policies a ratio compares."""

    numerator: str
    denominator: str


@dataclass(frozen=True)
class Stored:
    """Responses that the data set holds: which columns they are in, and what each of them was judged.

    `responses` are the columns of a row's texts, in order; empty means the row's own answer. `verdicts` says of each
    whether it is the good one (1) or not (0); without it the column `label` does.
    """

    responses: tuple[str, ...]
    verdicts: tuple[int, ...] = ()
    label: str | None = None
    pairs: bool = False


@dataclass(frozen=True)
class SameAs:
    """A default that follows another parameter of the same choice."""

    field: str


def same_as(field: str) -> Any:
    """Default of a parameter that is, unless written, equal to another one."""
    return SameAs(field)


Real = Annotated[float, Bound()]
Positive = Annotated[float, Bound(gt=0)]
NonNegative = Annotated[float, Bound(ge=0)]
Fraction = Annotated[float, Bound(ge=0, le=1), Unit("fraction")]
OpenFraction = Annotated[float, Bound(gt=0, le=1), Unit("fraction")]
PositiveBand = Annotated[Band, Bound(ge=0)]
Tokens = Annotated[int, Bound(ge=1), Unit("tokens")]
Prompts = Annotated[int, Bound(ge=1), Unit("prompts")]
Responses = Annotated[int, Bound(ge=1), Unit("responses")]
Batches = Annotated[int, Bound(ge=1), Unit("batches")]
Updates = Annotated[int, Bound(ge=1), Unit("updates")]
Count = Annotated[int, Bound(ge=1)]
Natural = Annotated[int, Bound(ge=0)]
Seconds = Annotated[float, Bound(gt=0), Unit("seconds")]
Bytes = Annotated[int, Bound(ge=1), Unit("bytes")]
Denominator = Literal["all", "kept"]

NUMERATORS = ("current",)
DENOMINATORS = ("old", "rollout")
