"""What a step is worth in a tree: the mean reward of all responses through it, against the whole tree and its parent.

Differs from `tree_group`: every step has its own value; a shared step earns what all responses through it earned.
Exact: with V(n) the mean reward of the responses through step n, root the mean of the prompt's responses and |L(n)| how
many responses run through n, A(n) = ((V(n) − V(root)) + (V(n) − V(parent)))/√|L(n)|; `reweight: false` leaves the root
out. The parent of n is the text that it begins with.
Source: TreeRL (arXiv:2506.11902), section 3.3, global and local advantage; its code takes each reward minus the mean of
the others, which is this times N/(N − 1).
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, STATE, STEP, Expr, count, mean
from rldsl.algebra.units import after, outcome
from rldsl.algebra.variables import REWARD, TOKENS
from rldsl.axes.base import Estimator
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import SIBLINGS, TOKEN_ADVANTAGE


class TreeValues(Estimator):
    needs = {SIBLINGS}
    gives = {TOKEN_ADVANTAGE}
    reweight: bool = True  # whether a step is divided by the root of how many responses run through it

    def estimate(self) -> Expr:
        reward, last = outcome(REWARD, STEP), 1.0 - after(TOKENS, STEP)
        parent = mean(reward, STATE)
        value = after(parent, STEP) + last * reward
        advantage = (value - mean(REWARD, GROUP)) + (value - parent)
        return advantage / (after(count(reward, STATE), STEP) + last) ** 0.5 if self.reweight else advantage


_rows = [tokens(1, 1, reward=r, steps=[0, 1], states=["", s])
         for r, s in ((1.0, "a"), (0.0, "a"), (0.0, "b"), (0.0, "b"))]
EXAMPLES = [
    Example("values: root 1/4, a 1/2, b 0", {"reweight": False}, _rows,
            {"advantage": [[0.5, 1.25], [0.5, -0.75], [-0.5, -0.25], [-0.5, -0.25]]}),
    Example("two responses run through each first step", {}, _rows,
            {"advantage": [[0.3535534, 1.25], [0.3535534, -0.75], [-0.3535534, -0.25], [-0.3535534, -0.25]]}),
]
