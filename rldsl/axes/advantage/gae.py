"""Generalised advantage estimation from a learned value function.

Differs from `group_norm`: one response per prompt is enough, and every token gets its own coefficient.
Exact: δ_t = r_t + γV_{t+1} − V_t with V = 0 after the last token; A_t = Σ_l (γλ)^l δ_{t+l}. The critic learns
A(λ_critic) + V. Observations are no action tokens: the step from an action's last token goes straight to the
next action's first one (SAO's skip-observation GAE). `cross_segment` repeats the outcome at the end of every
segment, estimates inside segments, and multiplies the actor's advantage by (γλ)^{action tokens after the
segment}.
Source: Schulman et al. (arXiv:1506.02438), equation 16; decoupled λ: VAPO (arXiv:2504.05118); CompactionRL.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, SEGMENT, Expr, discounted, following, lift, total
from rldsl.algebra.units import is_last
from rldsl.algebra.variables import LAST, REWARD, TOKEN_REWARD, TOKENS, VALUE
from rldsl.axes.base import Decay, Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TOKEN_ADVANTAGE, TOKEN_REWARDS, VALUES
from rldsl.axes.types import Fraction, same_as


class Gae(Estimator):
    gives = {VALUES, TOKEN_ADVANTAGE, TOKEN_REWARDS}
    gamma: Fraction = 1.0  # discount per token
    lambda_: Fraction = 0.95  # 0 is the one-step TD error, 1 the return minus V
    lambda_actor: Fraction | Decay = same_as("lambda_")  # the λ of the policy's advantage
    lambda_critic: Fraction | Decay = same_as("lambda_")  # the λ of the critic's target
    cross_segment: bool = False  # whether a trajectory's context was compacted between segments

    def estimate(self) -> Expr:
        decay = self._decay(self.lambda_actor)
        local = self._local(decay)
        if not self.cross_segment:
            return local
        ahead = total(is_last(SEGMENT) * (discounted(TOKENS, 1.0, RESPONSE) - 1.0), SEGMENT)
        return decay ** ahead * local

    def value_target(self) -> Expr:
        return self._local(self._decay(self.lambda_critic)) + VALUE

    def _decay(self, lam: float | Decay) -> Expr:
        return self.gamma * (lam.value() if isinstance(lam, Decay) else lift(lam))

    def _local(self, decay: Expr) -> Expr:
        over = SEGMENT if self.cross_segment else RESPONSE
        reward = TOKEN_REWARD + (is_last(SEGMENT) - LAST) * REWARD if self.cross_segment else TOKEN_REWARD
        return discounted(reward + self.gamma * following(VALUE, 0.0, over) - VALUE, decay, over)


EXAMPLES = [
    Example("the last reward decays by λ", {}, [tokens(1, 1, values=[0.0, 0.0])], {"advantage": [[0.95, 1.0]]}),
    Example("λ = 0 is the TD error", {"lambda_": 0.0}, [tokens(1, 1, reward=0.0, values=[0.6, 0.75])],
            {"advantage": [[0.15, -0.75]]}),
    Example("λ = 1 is return minus value", {"lambda_": 1.0}, [tokens(1, 1, values=[0.25, 0.5])],
            {"advantage": [[0.75, 0.5]]}),
    Example("the outcome at each segment's end, the first one decayed by two tokens",
            {"lambda_": 0.5, "cross_segment": True}, [tokens(1, 1, 1, values=[0.0] * 3, segments=[0, 1, 1])],
            {"advantage": [[0.25, 0.5, 1.0]]}),
]
