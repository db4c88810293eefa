"""A smooth gate: the gradient fades as the ratio leaves 1, without a bound at which it ends.

Differs from `clip`: just beyond a clip bound a token still teaches, far beyond it hardly does.
Exact: (4/τ)·σ(τ(r − 1))·A with τ by the sign of A; the gradient on ℓ is 4p(1 − p)·r·A, p = σ(τ(r − 1)), which
is A at r = 1.
Source: SAPO (arXiv:2511.20347), soft adaptive policy optimization; τ = 1.0 and 1.05.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, gt, sigmoid, where
from rldsl.axes.base import Gate
from rldsl.axes.choice import Example, one_token
from rldsl.axes.traits import RATIO
from rldsl.axes.types import Positive


class Sapo(Gate):
    needs = {RATIO}
    tau_pos: Positive = 1.0  # how fast the gate closes where A > 0
    tau_neg: Positive = 1.05  # and where A ≤ 0

    def term(self, r: Expr | None, advantage: Expr, logp: Expr) -> Expr:
        return where(gt(advantage, 0), self._soft(r, self.tau_pos), self._soft(r, self.tau_neg)) * advantage

    def _soft(self, r: Expr, tau: float) -> Expr:
        return 4 / tau * sigmoid(tau * (r - 1))


EXAMPLES = [
    Example("whole at r = 1", {"tau_pos": 5.0}, [one_token()], {"gradient": [[-1.0]]}),
    Example("r = 1.3", {}, [one_token(1.3)], {"gradient": [[-1.271183]]}),
    Example("r = 0.7, pushed down", {}, [one_token(0.7, -1.0)], {"gradient": [[0.682919]]}),
]
