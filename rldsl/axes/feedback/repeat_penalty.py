"""Punish text that repeats itself, by how well it compresses.

Differs from `overlong`: a long text without repetition loses nothing. A text loses coef·(floor − ratio)/floor where its
ratio, bytes after over before compression with zlib, is below `floor`; texts under `least` bytes are left alone, since
every short text compresses badly.
Source: Ring-1T technical report names a zlib-based repetition penalty; floor and slope are ours.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Literal

from rldsl.axes.base import Scorer, Source
from rldsl.axes.choice import Example
from rldsl.axes.types import Count, OpenFraction, Positive


def score(text: str, answer: str, metadata: Mapping, *, coef: float, floor: float, least: int) -> float:
    """0 for a text that compresses no better than `floor`, down to −coef for one that compresses to nothing."""
    data = text.encode()
    if len(data) < least:
        return 0.0
    ratio = len(zlib.compress(data)) / len(data)
    return -coef * max(0.0, floor - ratio) / floor


class RepeatPenalty(Source):
    positional = 1
    how: Literal["zlib"] = "zlib"  # what measures repetition
    coef: Positive = 1.0  # most that is lost
    floor: OpenFraction = 0.3  # compression ratio from which on nothing is lost
    least: Count = 200  # bytes below which a text is not judged

    def scorer(self) -> Scorer:
        return Scorer(f"{__name__}:score", {"coef": self.coef, "floor": self.floor, "least": self.least})


EXAMPLES = [Example("short, and 1000 times the same letter: 17 of 1000 bytes are left", {"floor": 0.5},
                    [{"text": "fine", "answer": ""}, {"text": "a" * 1000, "answer": ""}], {"scores": [0.0, -0.966]})]
