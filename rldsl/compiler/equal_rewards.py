"""What an estimator says where rewards tell siblings apart by nothing, found by trying its formulas on numbers."""

from __future__ import annotations

from collections.abc import Sequence

from rldsl.algebra.evaluate import evaluate
from rldsl.algebra.expr import RESPONSE, TOKEN, Expr
from rldsl.algebra.grain import variables
from rldsl.algebra.layout import Layout, layout
from rldsl.algebra.variables import CORRECT, RESPONSES, REWARD, SCORES, TOKEN_REWARD, TOKENS
from rldsl.axes.base import Estimator

LENGTHS = (2, 4, 3, 5, 3, 1)
ALONE, PAIRS = (0, 1, 2, 3, 4, 5), (0, 0, 1, 1, 2, 2)
REWARDS = (1.0, 1.0, 0.0, 0.0, 0.5, 0.5)
OTHERS = (0.3, 0.7, 0.2, 0.9, 0.4, 0.6, 0.8)
"""What else a formula reads, over and over; it means nothing."""


def teaches_alone(estimator: Estimator) -> bool:
    """Whether a response without siblings can have an advantage."""
    return _teaches(estimator, ALONE)


def teaches_equals(estimator: Estimator) -> bool:
    """Whether siblings that all have one reward can have an advantage."""
    return _teaches(estimator, PAIRS)


def _teaches(estimator: Estimator, groups: Sequence[int]) -> bool:
    parts = [[t // 2 for t in range(n)] for n in LENGTHS]
    shape = layout(LENGTHS, groups, pairs=PAIRS, turns=parts, steps=parts, segments=parts, states=parts)
    advantage = estimator.estimate()
    found = (evaluate(advantage, _numbers(advantage, shape, sign), shape).data for sign in (1.0, -1.0))
    return any(abs(x) > 1e-6 for data in found for x in data)


def _numbers(e: Expr, shape: Layout, sign: float) -> dict[str, list[float]]:
    """Outcomes at the last token, as a source gives them, and something of one sign for all else."""
    last = [r * (t == n - 1) for r, n in zip(REWARDS, LENGTHS, strict=True) for t in range(n)]
    given = {REWARD.name: REWARDS, SCORES.name: REWARDS, CORRECT.name: [float(r > 0.5) for r in REWARDS],
             TOKEN_REWARD.name: last, TOKENS.name: [1.0] * shape.size(TOKEN),
             RESPONSES.name: [1.0] * shape.size(RESPONSE)}
    return {v.name: list(given.get(v.name) or [sign * OTHERS[i % len(OTHERS)] for i in range(shape.size(v.grain))])
            for v in variables(e)}
