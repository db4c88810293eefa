"""Maximise the geometric mean of a response's token ratios, each clipped in log space.

Differs from `clip`: one outlier moves a geometric mean little; the term has one value per response.
Exact: exp(mean_t s·min(s·d, s·clip(d, −low, high)))·A, d = log r per token, s = sign(A), A the response's mean
advantage.
Source: GMPO (arXiv:2507.20673); bounds e^−0.4 and e^0.4.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, clip, gt, log, lt, mean, minimum, ratio_of, where
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RATIO, RESPONSE_TERM
from rldsl.axes.types import NonNegative, same_as


class Gmpo(Gate):
    positional = 1
    needs = {RATIO}
    gives = {RESPONSE_TERM}
    low: NonNegative = 0.4  # the log-ratio's floor is -low
    high: NonNegative = same_as("low")  # and its ceiling high

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        d, sign = log(r), where(gt(advantage, 0), 1.0, where(lt(advantage, 0), -1.0, 0.0))
        held = sign * minimum(sign * d, sign * clip(d, -self.low, self.high))
        return ratio_of(mean(held, RESPONSE)) * mean(advantage, RESPONSE)

    def bounds(self) -> dict[str, float]:
        return {"low": self.low, "high": self.high}


EXAMPLES = [
    Example("√(1.2 · 0.9)", {}, [tokens(1.2, 0.9)], {"objective": 1.0392305, "gradient": [[-0.5196152, -0.5196152]]},
            {"reduction": "sequence_mean"}),
    Example("a clipped token passes no gradient", {}, [tokens(2.0, 1.0)],
            {"objective": 1.2214028, "gradient": [[0.0, -0.6107014]]}, {"reduction": "sequence_mean"}),
]
