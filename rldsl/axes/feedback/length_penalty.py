"""Reward short responses and punish long ones, by their place between the shortest and the longest of their group.

Differs from `overlong`: compares with siblings, not with a limit. With λ = 1/2 − (T − shortest)/(longest − shortest), a
correct response earns λ and a wrong one min(0, λ); 0 where all are equally long. `over: correct` compares and moves
correct responses only.
Source: Kimi k1.5 (arXiv:2501.12599), section 2.3.3 (length penalty over all responses); `over: correct` is ours.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, Expr, gt, highest, lowest, minimum, where
from rldsl.algebra.variables import CORRECT, LENGTH
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import CORRECTNESS, SIBLINGS
from rldsl.axes.types import NonNegative

FAR = 1e9
"""A length that no response has."""


class LengthPenalty(Shaping):
    positional = 1
    needs = {SIBLINGS, CORRECTNESS}
    coef: NonNegative  # weight of λ in the reward
    over: Literal["correct", "all"] = "all"  # which responses are compared

    def shape(self) -> Expr:
        passed = gt(CORRECT, 0.0)
        counts = passed if self.over == "correct" else gt(LENGTH, 0.0)
        shortest = lowest(where(counts, LENGTH, FAR), GROUP)
        longest = highest(where(counts, LENGTH, 0.0), GROUP)
        place = where(gt(longest, shortest), 0.5 - (LENGTH - shortest) / (longest - shortest), 0.0)
        return self.coef * where(passed, place, minimum(place, 0.0) if self.over == "all" else 0.0)


_batch = [tokens(*[1] * n, reward=r) for n, r in ((1, 1.0), (3, 1.0), (1, 0.0), (2, 0.0))]
_group = {"sampling": "group(4, max_tokens: 8)"}
EXAMPLES = [Example("short and right +1/2, long −1/2, short and wrong nothing", {"coef": 1.0}, _batch,
                    {"reward": [1.5, 0.5, 0.0, 0.0]}, _group),
            Example("only correct responses", {"coef": 0.5, "over": "correct"}, _batch,
                    {"reward": [1.25, 0.75, 0.0, 0.0]}, _group)]
