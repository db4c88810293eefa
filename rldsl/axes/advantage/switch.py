"""A learned value where it explains more of the returns than the group's mean does, else the group's mean.

Differs from `gae`: a critic that has learned nothing yet is not used, batch by batch.
Exact: Var(G_t − V_t) < Var(G_t − mean_g R) over the batch's action tokens → GAE with λ, else R − mean_g R;
comparing these is comparing explained variances 1 − Var(G − ·)/Var(G). G_t is the reward from token t on.
Source: EVPO (Pan et al., 2026), explained variance as the critic's reliability.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, UPDATE, Expr, discounted, following, lt, mean, std, where
from rldsl.algebra.variables import REWARD, TOKEN_REWARD, VALUE
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE, TOKEN_REWARDS, VALUES
from rldsl.axes.types import Fraction


class Switch(Estimator):
    needs = {SIBLINGS}
    gives = {VALUES, TOKEN_ADVANTAGE, TOKEN_REWARDS}
    gamma: Fraction = 1.0  # discount per token
    lambda_: Fraction = 0.95  # 0 is the one-step TD error, 1 the return minus V

    def estimate(self) -> Expr:
        ahead = discounted(TOKEN_REWARD, 1.0)
        learned = std(ahead - VALUE, UPDATE)
        shared = std(ahead - mean(REWARD, GROUP), UPDATE)
        return where(lt(learned, shared), self._gae(), REWARD - mean(REWARD, GROUP))

    def value_target(self) -> Expr:
        return self._gae() + VALUE

    def _gae(self) -> Expr:
        return discounted(TOKEN_REWARD + self.gamma * following(VALUE) - VALUE, self.gamma * self.lambda_)


def _rows(*values: float) -> list[dict]:
    return [tokens(1, reward=r, values=[v]) for r, v in zip((1.0, 0.0), values, strict=True)]


EXAMPLES = [
    Example("the critic explains more: R − V", {}, _rows(0.75, 0.25), {"advantage": [0.25, -0.25]}),
    Example("it explains less: the group's mean", {}, _rows(0.0, 1.0), {"advantage": [0.5, -0.5]}),
]
