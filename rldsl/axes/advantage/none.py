"""No advantage: the loss compares the two responses of a pair, and no reward is turned into a coefficient.

Differs from `monte_carlo`: for preference losses only, which read who was preferred and nothing else.
Source: DPO (arXiv:2305.18290), section 4: the loss has no reward and no baseline.
"""

from __future__ import annotations

from rldsl.algebra.expr import Const, Expr
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import COMPARES


class NoAdvantage(Estimator):
    needs = {COMPARES}

    def estimate(self) -> Expr:
        return Const(0.0)


EXAMPLES = [Example("rewards are not read", {}, rewards(1.0, 0.0), {"advantage": [0.0, 0.0]})]
