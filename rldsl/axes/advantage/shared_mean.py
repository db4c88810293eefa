"""After another estimator: what several responses share has the mean of their advantages.

Differs from leaving it alone: there a shared token is trained once for each response through it, with that response's
advantage. The sum over responses is the same as long as they weigh the same and no gate acts.
Exact: on a step that other responses share, the mean of A over all responses through it; A itself on a response's last
step, which nobody shares. A is one number per response.
Source: ARPO (arXiv:2507.19849), section 3.2, hard advantage estimation; leaving it alone is the soft one.
"""

from __future__ import annotations

from rldsl.algebra.expr import STATE, STEP, Expr, mean
from rldsl.algebra.units import after, outcome
from rldsl.algebra.variables import TOKENS
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_ADVANTAGE


class SharedMean(AdvantageStage):
    gives = {TOKEN_ADVANTAGE}

    def transform(self, advantage: Expr) -> Expr:
        own, last = outcome(advantage, STEP), 1.0 - after(TOKENS, STEP)
        return after(mean(own, STATE), STEP) + last * own


EXAMPLES = [Example("two responses share their first step", {},
                    [tokens(1, 1, reward=r, steps=[0, 1], states=["", "a"]) for r in (1.0, 0.0)],
                    {"advantage": [[0.5, 1.0], [0.5, 0.0]]})]
