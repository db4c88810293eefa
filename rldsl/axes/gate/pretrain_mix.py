"""Keep the texts of pretraining likely while the reward is learned.

Differs from `kl`: holds the policy to other data, not near another policy. Exact: coef · mean over the update's texts
of log π_θ(x), all tokens of x but the first; added once per update, whatever the reduction. The texts are those of
`data { pretrain: … }`, so many per update as `pretrain_texts` says.
Source: InstructGPT (arXiv:2203.02155), equation 2, PPO-ptx, γ = 27.8.
"""

from __future__ import annotations

from rldsl.algebra.expr import Const, Expr
from rldsl.algebra.variables import PRETRAIN
from rldsl.axes.base import Regulariser
from rldsl.axes.choice import Example, one_token
from rldsl.axes.types import NonNegative


class PretrainMix(Regulariser):
    positional = 1
    coef: NonNegative  # γ: objective gained per nat of a text's log-likelihood

    def bonus(self, r: Expr | None) -> Expr:
        return self.coef * PRETRAIN

    def own_weight(self) -> Expr | None:
        return Const(1.0)


EXAMPLES = [Example("a tenth of −3 nats", {"coef": 0.1}, [one_token(reward=0.0, logp_pretrain=-3.0)],
                    {"objective": -0.3})]
