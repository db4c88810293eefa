"""No advantage: the loss learns from a preference or from a teacher, and no reward is turned into a coefficient.

Differs from `monte_carlo`: for losses only that have a signal of their own and would read no advantage.
Source: DPO (arXiv:2305.18290), section 4, and GKD (arXiv:2306.13649), equation 1: neither loss has a reward or a
baseline.
"""

from __future__ import annotations

from rldsl.algebra.expr import Const, Expr
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import OWN_SIGNAL


class NoAdvantage(Estimator):
    needs = {OWN_SIGNAL}

    def estimate(self) -> Expr:
        return Const(0.0)


EXAMPLES = [Example("rewards are not read", {}, rewards(1.0, 0.0), {"advantage": [0.0, 0.0]})]
