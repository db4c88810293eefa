"""Means with intervals, paired differences and their tests, over seeds. The numbers are scipy's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rldsl.diagnostics import RecipeError, at

CONFIDENCE = 0.95
LEVEL = 1 - CONFIDENCE
ROUNDING = 1e-12
"""Share of the values below which a difference is what rounding leaves, and not one."""


@dataclass(frozen=True)
class Estimate:
    """A mean over `n` seeds and the half-width of its 95 % Student t interval; None with fewer than two seeds."""

    mean: float
    half: float | None
    n: int


@dataclass(frozen=True)
class Difference(Estimate):
    """A mean difference over paired seeds. `p` is of the two-sided paired t-test; None where it is undefined: with
    fewer than two pairs, or without any spread between them."""

    p: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of at least one value, with its interval."""
    n, mean = len(values), math.fsum(values) / len(values)
    return Estimate(mean, _half(values, mean), n)


def paired(old: Mapping[int, float], new: Mapping[int, float]) -> Difference | None:
    """new − old over the seeds that both have; None where they share none."""
    seeds = sorted(old.keys() & new.keys())
    if not seeds:
        return None
    noise = ROUNDING * max(max(abs(old[s]), abs(new[s])) for s in seeds)
    gaps = [gap if abs(gap := new[s] - old[s]) > noise else 0.0 for s in seeds]
    base = estimate(gaps)
    return Difference(base.mean, base.half, base.n, _p(gaps, noise))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979): the probability of even one false
    finding among all is at most the level. Undefined ones are no comparisons."""
    order = sorted((i for i, p in enumerate(ps) if p is not None), key=lambda i: ps[i])
    adjusted: list[float | None] = [None] * len(ps)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * ps[i]))
        adjusted[i] = highest
    return adjusted


def _half(values: Sequence[float], mean: float) -> float | None:
    n = len(values)
    if n < 2:
        return None
    sem = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1) / n)
    return float(_stats().t.ppf(1 - LEVEL / 2, n - 1)) * sem


def _p(gaps: Sequence[float], noise: float) -> float | None:
    if len(gaps) < 2:
        return None
    if max(gaps) - min(gaps) <= noise:
        return 1.0 if not any(gaps) else None
    return float(_stats().ttest_1samp(gaps, 0.0).pvalue)


def _stats():
    try:
        from scipy import stats
    except ImportError as error:
        raise RecipeError([at("RL407", "a report needs scipy, which is not installed", None,
                              why="intervals and tests are taken from a library that others check",
                              fix="write pip install 'rldsl[experiments]' in a shell")]) from error
    return stats
