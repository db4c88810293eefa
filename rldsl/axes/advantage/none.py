"""No advantage: no reward is turned into a coefficient.

Differs from `monte_carlo`: for losses that have a signal of their own and read no advantage, such as a preference, a
teacher, or the imitation of correct responses alone.
Source: DPO (arXiv:2305.18290), section 4, and GKD (arXiv:2306.13649), equation 1: neither loss has a reward or a
baseline.
"""

from __future__ import annotations

from rldsl.algebra.expr import Const, Expr
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards


class NoAdvantage(Estimator):
    def estimate(self) -> Expr:
        return Const(0.0)


EXAMPLES = [Example("rewards are not read", {}, rewards(1.0, 0.0), {"advantage": [0.0, 0.0]})]
