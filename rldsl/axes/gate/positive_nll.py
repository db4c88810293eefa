"""Imitate the correct responses as well: their tokens' mean log-likelihood is added.

Differs from `entropy` and `kl`: pulls towards what worked, and is averaged over the tokens of correct responses
alone, not with the recipe's reduction.
Exact: coef · (Σ over tokens of correct responses of ℓ) / (their number) over the whole update; 0 without any.
Source: VAPO (arXiv:2504.05118), positive-example language-model loss (coefficient 0.1).
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, gt, total, where
from rldsl.algebra.variables import CORRECT, LENGTH, LOGP, TOKENS
from rldsl.axes.base import Regulariser
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.traits import CORRECTNESS
from rldsl.axes.types import NonNegative


class PositiveNll(Regulariser):
    positional = 1
    needs = {CORRECTNESS}
    coef: NonNegative = 0.1  # objective gained per nat

    def bonus(self, r: Expr | None) -> Expr:
        return self.coef * LOGP

    def own_weight(self) -> Expr:
        passed = gt(CORRECT, 0.0)
        return where(passed, TOKENS / total(where(passed, LENGTH, 0.0), UPDATE), 0.0)


_rows = [tokens(1, 1, reward=1.0), one_token(reward=0.0)]
EXAMPLES = [Example("two of three tokens are correct ones", {"coef": 0.5}, _rows,
                    {"gradient": [[-0.75, -0.75], [0.0]]})]
