"""Another term whose weight goes from 1 to `to` in equal steps over the first batches.

Differs from a weight before a term: it changes while training goes on, and is kept in checkpoints.
Exact: weight 1 + (to − 1)·min(1, k/over) in batch k, counted from 0.
Source: Kimi K2.5 technical report, PARL: the parallel and finish rewards are annealed to 0.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, minimum
from rldsl.axes.base import Reward, Wrapping
from rldsl.axes.choice import Example, one_token
from rldsl.axes.feedback.unfinished import Unfinished
from rldsl.axes.types import Batches, NonNegative


class Anneal(Wrapping):
    positional = 1
    state = {"batches": 0.0}
    term: Reward  # the term whose weight changes
    over: Batches  # batches after which the weight is `to`
    to: NonNegative = 0.0  # the weight at the end

    def inner(self) -> Reward:
        return self.term

    def around(self, reward: Expr) -> Expr:
        return (1.0 + (self.to - 1.0) * minimum(self.carried("batches") / self.over, 1.0)) * reward

    def next_state(self) -> dict[str, Expr]:
        return {"batches": self.carried("batches") + 1.0}


EXAMPLES = [Example("in full in the first batch", {"term": Unfinished(0.5), "over": 10},
                    [one_token(reward=1.0, truncated=True)], {"reward": [0.5]})]
