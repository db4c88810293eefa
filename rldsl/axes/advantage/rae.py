"""Reward minus a running mean of what the same agent, or role, earned before.

Differs from `group_mean`: in a zero-sum game the siblings' mean is 0 whatever the policy does; each role has
its own baseline, carried from batch to batch.
Exact: A = R − b_a for agent a; after the batch, b_a becomes decay·b_a + (1 − decay)·R for each of its n
rewards, in one step: decay^n·b_a + (1 − decay^n)·mean R. Baselines start at 0.
Source: SPIRAL (arXiv:2506.24119), role-conditioned advantage estimation; prime-rl `rae` scores before it
updates. Taking a batch's rewards by their mean (ours) makes the result independent of their order.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, equal, gt, lift, total, where
from rldsl.algebra.variables import AGENT, RESPONSES, REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, rewards
from rldsl.axes.types import Count, Fraction


class Rae(Estimator):
    agents: Count = 2  # roles, numbered from 0
    decay: Fraction = 0.95  # share of the baseline that a reward leaves

    @property
    def state(self) -> dict[str, float]:
        return {f"mean_{a}": 0.0 for a in range(self.agents)}

    def estimate(self) -> Expr:
        baseline: Expr = lift(0.0)
        for a in range(self.agents):
            baseline = where(equal(AGENT, a), self.carried(f"mean_{a}"), baseline)
        return REWARD - baseline

    def next_state(self) -> dict[str, Expr]:
        return {f"mean_{a}": self._after(a) for a in range(self.agents)}

    def _after(self, agent: int) -> Expr:
        own, before = equal(AGENT, agent), self.carried(f"mean_{agent}")
        number = total(where(own, RESPONSES, 0.0), UPDATE)
        left = lift(self.decay) ** number
        mean = total(where(own, REWARD, 0.0), UPDATE) / number
        return where(gt(number, 0.0), left * before + (1.0 - left) * mean, before)


_batch = [{**r, "agent": a} for r, a in zip(rewards(1.0, -1.0), (0, 1), strict=True)]
EXAMPLES = [Example("the first batch has baseline 0", {}, _batch, {"advantage": [1.0, -1.0]})]
