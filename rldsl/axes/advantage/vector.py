"""Reward a set of answers for how well its best one does under many weightings of the reward's components.

Differs from `gdpo`: no single weighting decides; a set earns most when for each weighting one of its answers is good.
Exact: R(S) = E_w[max_{y∈S} Σ_k w_k·r_k(y)], w ~ Dirichlet(α, …, α), r_k the weighted components of the feedback; then
A = (R − mean R)/(std R + eps) in the group, the same for all tokens of the response. The expectation is the mean over
`draws` weightings, drawn once and the same for every prompt and batch (ours: fewer random numbers, the same mean).
`weights: equal` uses 1/K throughout.
Source: VPO (arXiv:2605.22817), the set-level objective with Dirichlet weights.
"""

from __future__ import annotations

import math
import random
from typing import Literal

from rldsl.algebra.expr import GROUP, Expr, gt, lift, maximum, mean, std, where
from rldsl.axes.choice import Example, rewards
from rldsl.axes.several import Parts, SetEstimator
from rldsl.axes.traits import ANSWERS, SIBLINGS
from rldsl.axes.types import Count, NonNegative, Positive


class Vector(SetEstimator):
    needs = {ANSWERS, SIBLINGS}
    weights: Literal["dirichlet", "equal"] = "dirichlet"  # how the components are weighed against one another
    alpha: Positive = 1.0  # of the Dirichlet: 1 is uniform, smaller is nearer to one component at a time
    draws: Count = 16  # weightings that the expectation is taken over
    std: Literal["population", "sample"] = "population"  # which spread of the group
    eps: NonNegative = 1e-6  # added to the spread

    def combine_set(self, answers: tuple[Parts, ...]) -> Expr:
        whole: Expr = lift(0.0)
        weightings = self._weightings(len(answers[0]))
        for w in weightings:
            best = _weighed(w, answers[0])
            for parts in answers[1:]:
                best = maximum(best, _weighed(w, parts))
            whole = whole + best
        reward = whole / len(weightings)
        spread = std(reward, GROUP, self.std)
        return where(gt(spread, 0.0), (reward - mean(reward, GROUP)) / (spread + self.eps), 0.0)

    def _weightings(self, components: int) -> list[list[float]]:
        if self.weights == "equal":
            return [[1.0 / components] * components]
        draw = random.Random(f"dirichlet/{components}/{self.alpha!r}/{self.draws}")
        return [_dirichlet(draw, self.alpha, components) for _ in range(self.draws)]

    def unread(self) -> dict[str, str]:
        return dict.fromkeys(("alpha", "draws"), "weights: dirichlet") if self.weights == "equal" else {}


def _dirichlet(draw: random.Random, alpha: float, components: int) -> list[float]:
    """One draw. In logarithms, with Gamma(α) = Gamma(α + 1)·U^(1/α): for a small α every Gamma(α) is too small."""
    logs = [math.log(draw.gammavariate(alpha + 1.0, 1.0)) + math.log1p(-draw.random()) / alpha
            for _ in range(components)]
    shares = [math.exp(x - max(logs)) for x in logs]
    return [x / sum(shares) for x in shares]


def _weighed(w: list[float], parts: Parts) -> Expr:
    out: Expr = lift(0.0)
    for share, (weight, part) in zip(w, parts, strict=True):
        out = out + share * weight * part
    return out


_sets = ({"verify.0": 1.0, "format.0": 0.0, "verify.1": 0.0, "format.1": 1.0},
         {"verify.0": 0.6, "format.0": 0.6, "verify.1": 0.6, "format.1": 0.6})
EXAMPLES = [Example("under equal weights two specialists are worth 0.5, a compromise 0.6", {"weights": "equal"},
                    [{**r, "scores": s} for r, s in zip(rewards(0.0, 0.0), _sets, strict=True)],
                    {"advantage": [-0.99998, 0.99998]},
                    {"feedback": '[verify(exact), format("x")]', "sampling": "answers(2, n: 2, max_tokens: 8)"},
                    tolerance=1e-5),
            Example("under many weightings the two specialists win", {},
                    [{**r, "scores": s} for r, s in zip(rewards(0.0, 0.0), _sets, strict=True)],
                    {"advantage": [1.0, -1.0]},
                    {"feedback": '[verify(exact), format("x")]', "sampling": "answers(2, n: 2, max_tokens: 8)"},
                    tolerance=1e-4)]
