"""Punish distance from the reference policy inside the reward, so that it reaches advantages and value targets.

Differs from `kl` on the gate: no gradient flows through it; it changes what is good, not how far a step goes.
`grain: token` puts −coef·(log π_old − log π_ref) on every token, `response` subtracts the sum once.
Source: InstructGPT (arXiv:2203.02155), equation 2; per token as in Ziegler et al. (arXiv:1909.08593), equation 2.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import RESPONSE, Expr, total
from rldsl.algebra.variables import LOGP_OLD, LOGP_REF
from rldsl.axes.base import Shaping, kl_estimate
from rldsl.axes.choice import Example
from rldsl.axes.traits import REFERENCE_KL, TOKEN_REWARDS
from rldsl.axes.types import NonNegative, Positive


class KlInReward(Shaping):
    positional = 1
    gives = {REFERENCE_KL}
    decided_by = {TOKEN_REWARDS: "grain"}
    coef: NonNegative  # reward lost per nat
    estimator: Literal["k1", "k2", "k3"] = "k1"  # how the KL is estimated from the sampled token
    grain: Literal["token", "response"] = "token"  # where the penalty is placed
    cap: Positive | None = None  # largest size of a token's estimate

    @property
    def needs(self) -> frozenset:
        return frozenset({TOKEN_REWARDS} if self.grain == "token" and self.coef > 0 else ())

    def _penalty(self) -> Expr:
        return -self.coef * kl_estimate(LOGP_OLD - LOGP_REF, self.estimator, self.cap)

    def shape(self) -> Expr | None:
        return total(self._penalty(), RESPONSE) if self.grain == "response" else None

    def per_token(self) -> Expr | None:
        return self._penalty() if self.grain == "token" else None


_row = {"prompt": "p", "reward": 1.0, "logp_current": [-1.0, -1.0], "logp_old": [-1.0, -1.0], "logp_ref": [-1.5, -2.0]}
EXAMPLES = [Example("1 − 0.1·(0.5 + 1.0)", {"coef": 0.1, "grain": "response"}, [_row], {"reward": [0.85]}),
            Example("each held at 0.6: 1 − 0.1·(0.5 + 0.6)", {"coef": 0.1, "grain": "response", "cap": 0.6}, [_row],
                    {"reward": [0.89]}),
            Example("per token, on the return from each token on", {"coef": 0.1, "grain": "token"},
                    [{**_row, "values": [0.0, 0.0]}], {"advantage": [[0.85, 0.9]]}, {"advantage": "gae(lambda: 1)"})]
