"""The base of detectors: a sign of ill health in a run's metrics, with its threshold, its evidence and a remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from .choice import Choice
from .types import Batches


@dataclass(frozen=True)
class Seen:
    """What a detector looks at, {metric: number}: `now` is this batch, with the held-out scores of an evaluation just
    before it; `first` is the mean over the run's first `patience` batches that have the detector's metrics, `last`
    over the latest as many; both are empty before there are so many. `max_tokens` is the sampler's limit."""

    now: Mapping[str, float]
    first: Mapping[str, float]
    last: Mapping[str, float]
    max_tokens: int


class Detector(Choice):
    """A member of the `health` block. It speaks once, when its sign has held for `patience` batches in a row.

    `reads` names the metrics without which it says nothing, `also` those it reads where they are; `code` is the
    diagnostic that it makes, `remedy` what to do.
    """

    axis = "detector"
    reads: ClassVar[tuple[str, ...]] = ()
    also: ClassVar[tuple[str, ...]] = ()
    code: ClassVar[str] = "RL615"
    remedy: ClassVar[str] = ""
    patience: Batches = 5  # batches in a row in which the sign must hold
    then: Literal["warn", "stop", "ignore"] = "warn"  # what follows

    def sign(self, seen: Seen) -> bool:
        """Whether the sign holds in this batch; every metric in `reads` is there."""
        raise TypeError(f"{self.name} looks for nothing")

    def evidence(self, seen: Seen) -> str:
        """What was seen, in numbers: part of a sentence."""
        raise TypeError(f"{self.name} has no evidence")

    def cause(self, seen: Seen) -> str:
        """Why it matters, or where it comes from: a sentence."""
        raise TypeError(f"{self.name} gives no reason")

    def unread(self) -> dict[str, str]:
        """A detector that is switched off reads none of its other parameters."""
        others = [name for name in self.__dataclass_fields__ if name != "then"]
        return dict.fromkeys(others, "then: warn or stop") if self.then == "ignore" else {}
