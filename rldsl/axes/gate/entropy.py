"""A bonus for the policy's entropy at every position.

Differs from `kl`: needs no other policy; keeps the distribution wide rather than near something.
With a `target` the bonus acts only where the batch before was no wider than the target, and its coefficient
moves by `step` a batch, up at or below the target and down above it, between `least` and `most`.
Source: Williams and Peng (1991); PPO (arXiv:1707.06347), equation 9; the target: adaptive entropy of TRL
1.16.0.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, clip, le, mean, where
from rldsl.algebra.variables import ENTROPY
from rldsl.axes.base import Regulariser
from rldsl.axes.choice import Example, one_token
from rldsl.axes.types import NonNegative, Real


class Entropy(Regulariser):
    positional = 1
    coef: Real  # objective gained per nat; with a target, before the first batch
    target: NonNegative | None = None  # mean entropy in nats to hold; none keeps the coefficient
    step: NonNegative = 0.005  # change of the coefficient per batch
    least: Real = 0.0  # smallest coefficient
    most: Real = 1.0  # largest coefficient

    @property
    def state(self) -> dict[str, float]:
        return {} if self.target is None else {"coef": self.coef, "narrow": 0.0}

    def bonus(self, r: Expr | None) -> Expr:
        if self.target is None:
            return self.coef * ENTROPY
        return self.carried("narrow") * self.carried("coef") * ENTROPY

    def next_state(self) -> dict[str, Expr]:
        if self.target is None:
            return {}
        narrow = le(mean(ENTROPY, UPDATE), self.target)
        moved = self.carried("coef") + where(narrow, self.step, -self.step)
        return {"coef": clip(moved, self.least, self.most), "narrow": narrow}

    def unread(self) -> dict[str, str]:
        return dict.fromkeys(("step", "least", "most"), "a target") if self.target is None else {}


EXAMPLES = [
    Example("0.01 of 0.7 nats", {"coef": 0.01}, [one_token(reward=0.0, entropy=[0.7])], {"objective": 0.007}),
    Example("nothing before the entropy is known", {"coef": 0.01, "target": 1.0},
            [one_token(reward=0.0, entropy=[0.7])], {"objective": 0.0}),
]
