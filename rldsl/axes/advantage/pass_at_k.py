"""Reward a group for what k attempts reach: a correct response is worth the more, the rarer it is.

Differs from `group_norm`: easy prompts (few wrong responses among G) teach almost nothing.
Exact, with N responses of which N₋ are wrong: R̄ = 1 − C(N₋, k)/C(N, k), σ = √(R̄(1 − R̄)); a correct one gets
(1 − R̄)/σ, a wrong one (1 − R̄ − C(N₋ − 1, k − 1)/C(N − 1, k − 1))/σ. σ = 0, or a group of fewer than k, gives
0.
Source: Pass@k training (arXiv:2508.10751), the analytical advantage.
"""

from __future__ import annotations

from typing import Annotated

from rldsl.algebra.expr import GROUP, Const, Expr, both, ge, gt, maximum, total, where
from rldsl.algebra.variables import CORRECT, RESPONSES
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import CORRECTNESS, SIBLINGS
from rldsl.axes.types import Bound


def _share(part: Expr, whole: Expr, k: int) -> Expr:
    """C(part, k) / C(whole, k): the chance that k drawn without replacement all come from the part."""
    out: Expr = Const(1.0)
    for j in range(k):
        out = out * (maximum(part - j, 0.0) / (whole - j))
    return out


class PassAtK(Estimator):
    positional = 1
    needs = {SIBLINGS, CORRECTNESS}
    k: Annotated[int, Bound(ge=1, le=64)]  # attempts that count as one

    def estimate(self) -> Expr:
        passed = gt(CORRECT, 0.0)
        n, wrong = total(RESPONSES, GROUP), total(where(passed, 0.0, RESPONSES), GROUP)
        fails = _share(wrong, n, self.k)
        spread = ((1.0 - fails) * fails) ** 0.5
        value = where(passed, fails, fails - _share(wrong - 1.0, n - 1.0, self.k - 1))
        return where(both(gt(spread, 0.0), ge(n, self.k)), value / spread, 0.0)


EXAMPLES = [
    Example("k = 1 is group_norm", {"k": 1}, rewards(1.0, 0.0, 0.0, 0.0),
            {"advantage": [1.7320508, -0.5773503, -0.5773503, -0.5773503]}),
    Example("2 of 8 correct, k = 4", {"k": 4}, rewards(1.0, 1.0, *[0.0] * 6),
            {"advantage": [0.52223, 0.52223, *[-0.17408] * 6]}, tolerance=1e-4),
]
