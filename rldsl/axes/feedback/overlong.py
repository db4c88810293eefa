"""Soft punishment of long responses: 0 up to max − buffer, then linear down to −1 at max, −1 beyond.

Differs from `drop_truncated`: a response near the limit is punished gradually, not taken out of the loss.
Source: DAPO (arXiv:2503.14476), equation 13.
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, clip
from rldsl.algebra.variables import LENGTH
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, one_token, tokens
from rldsl.axes.traits import LENGTH_LIMIT
from rldsl.axes.types import Tokens


class Overlong(Shaping):
    needs = {LENGTH_LIMIT}
    decided_by = {LENGTH_LIMIT: "max"}
    max: Tokens = 20480  # length at which the punishment is full, in tokens
    buffer: Tokens = 4096  # length of the ramp before it, in tokens

    def shape(self) -> Expr:
        return clip(((self.max - self.buffer) - LENGTH) / self.buffer, -1.0, 0.0)

    def limit(self) -> int:
        return self.max

    def check(self) -> dict[str, str]:
        return {"buffer": f"must be at most max = {self.max}"} if self.buffer > self.max else {}


EXAMPLES = [
    Example("half way down the ramp", {"max": 4, "buffer": 2},
            [tokens(1, 1, 1, reward=0.0)], {"reward": [-0.5]}),
    Example("before the ramp", {"max": 4, "buffer": 2}, [one_token(reward=1.0)], {"reward": [1.0]}),
    Example("beyond max", {"max": 4, "buffer": 2}, [tokens(*[1] * 9, reward=0.0)],
            {"reward": [-1.0]}),
]
