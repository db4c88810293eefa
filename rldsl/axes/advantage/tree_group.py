"""Compare a response with all responses to its prompt, and with those of its own tree.

Differs from `group_norm`: adds a second comparison, among the responses that share their first step.
Exact: (R − mean over the prompt)/(std over the prompt + eps) + (R − mean over the tree)/(std over the tree + eps); a
part whose spread is 0 is 0, as for a response that is alone in its tree. A tree is the responses whose second step
begins with one text.
Source: Tree-GRPO (arXiv:2509.21240), inter-tree and intra-tree advantages; its code takes `std: sample`, and the reward
itself where a tree has one response.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import GROUP, RESPONSE, STATE, STEP, Expr, gt, mean, std, total, where
from rldsl.algebra.units import after, is_first, outcome
from rldsl.algebra.variables import REWARD
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS
from rldsl.axes.types import NonNegative


class TreeGroup(Estimator):
    needs = {SIBLINGS}
    eps: NonNegative = 1e-6  # added to each std
    std: Literal["population", "sample"] = "population"  # which spread

    def estimate(self) -> Expr:
        among = outcome(REWARD, STEP)
        tree = self._compared(_of_tree(mean(among, STATE)), _of_tree(std(among, STATE, self.std)))
        return self._compared(mean(REWARD, GROUP), std(REWARD, GROUP, self.std)) + tree

    def _compared(self, middle: Expr, spread: Expr) -> Expr:
        return where(gt(spread, 0.0), (REWARD - middle) / (spread + self.eps), 0.0)


def _of_tree(x: Expr) -> Expr:
    """What x is in the state that a response's second step begins in; response grain, 0 without such a step."""
    return total(is_first(RESPONSE) * after(x, STEP), RESPONSE)


_rows = [tokens(1, 1, reward=r, steps=[0, 1], states=["", s])
         for r, s in ((1.0, "a"), (0.0, "a"), (0.0, "b"), (0.0, "b"))]
EXAMPLES = [
    Example("among four: mean 1/4, std 0.433; in tree a: mean 1/2, std 1/2; in tree b nothing differs", {"eps": 0.0},
            _rows, {"advantage": [2.7320508, -1.5773503, -0.5773503, -0.5773503]}),
    Example("divided by n − 1", {"eps": 0.0, "std": "sample"}, _rows,
            {"advantage": [2.2071068, -1.2071068, -0.5, -0.5]}),
]
