"""What is reported of a batch whose constants are fixed, raw, as defined in `metrics`."""

from __future__ import annotations

import math
from collections import Counter

from rldsl.algebra.expr import GROUP, RESPONSE, TOKEN, UPDATE, Expr, Var, absolute, equal, highest, lowest, mean, std
from rldsl.algebra.variables import (
    ADVANTAGE,
    CORRECTION,
    LOGP_OLD,
    LOGP_ROLLOUT,
    REWARD,
    SCORES,
    TRAINER_VERSION,
    VALUE,
    VERSION,
)
from rldsl.axes.base import mismatch

from .batch import Batch
from .metrics import UNIFORM

FACTOR = math.log(2.0)
"""Two probabilities of one token that differ by more than a factor of 2 are in the tail."""
TARGET = Var("value_target", TOKEN)
STALENESS = TRAINER_VERSION - lowest(VERSION, RESPONSE)
DISTANCE = absolute(LOGP_OLD - LOGP_ROLLOUT)


def _variance(e: Expr) -> Expr:
    off = e - mean(e, UPDATE)
    return mean(off * off, UPDATE)


ALWAYS = {
    "reward/shaped": mean(REWARD, UPDATE),
    UNIFORM.name: mean(equal(highest(SCORES, GROUP), lowest(SCORES, GROUP)), UPDATE),
    "advantage/abs": mean(absolute(ADVANTAGE), UPDATE),
    "reward/spread": std(SCORES, UPDATE),
    "staleness/mean": mean(STALENESS, UPDATE),
    "staleness/max": highest(STALENESS, UPDATE),
    "correction/mean": mean(CORRECTION, UPDATE),
    "correction/zero": mean(equal(CORRECTION, 0.0), UPDATE),
}
ZERO = {"advantage/zero": mean(equal(highest(absolute(ADVANTAGE), RESPONSE), 0.0), UPDATE)}
SURPRISE = {"entropy/sampled": mean(0.0 - LOGP_ROLLOUT, UPDATE)}


def observe(statistics: Batch, siblings: int, rewarded: bool) -> dict[str, float]:
    """Metrics over the responses that the advantages were taken over. `rewarded` says whether the policy learns from
    advantages at all. An empty batch has none."""
    if not statistics.lengths:
        return {}
    alone = sum(n == 1 for n in Counter(statistics.groups).values())
    wanted = ALWAYS | (ZERO if rewarded else {}) | (SURPRISE if LOGP_ROLLOUT.name in statistics.columns else {})
    found = {name: _one(statistics, e) for name, e in wanted.items()}
    found["groups/reduced_to_one"] = float(alone) if siblings > 1 else 0.0
    return found | _kappa(statistics) | _explained(statistics)


def _one(batch: Batch, e: Expr) -> float:
    return batch.math.numbers(batch.value(e).data)[0]


def _kappa(batch: Batch) -> dict[str, float]:
    if not {LOGP_OLD.name, LOGP_ROLLOUT.name} <= batch.columns.keys():
        return {}
    sizes = sorted(batch.math.numbers(batch.value(DISTANCE).data))
    return {"kappa/mean": _one(batch, mean(mismatch(), UPDATE)), "kappa/log_abs": sum(sizes) / len(sizes),
            "kappa/log_abs_p99": sizes[min(len(sizes) - 1, int(0.99 * len(sizes)))],
            "kappa/tail": sum(size > FACTOR for size in sizes) / len(sizes)}


def _explained(batch: Batch) -> dict[str, float]:
    if TARGET.name not in batch.columns or VALUE.name not in batch.columns:
        return {}
    spread = _one(batch, _variance(TARGET))
    return {"critic/explained_variance": 1 - _one(batch, _variance(TARGET - VALUE)) / spread} if spread else {}
