"""After another estimator: hold the advantage inside [low, high].

Differs from `whiten`: changes only outliers, and nothing about the others' scale.
Source: the advantage bounds of NeMo-RL (`advantage_clip_low`, `advantage_clip_high`).
"""

from __future__ import annotations

from rldsl.algebra.expr import Expr, clip
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.types import Real


class ClipAdvantage(AdvantageStage):
    positional = 2
    low: Real  # smallest advantage
    high: Real  # largest advantage

    def transform(self, advantage: Expr) -> Expr:
        return clip(advantage, self.low, self.high)

    def check(self) -> dict[str, str]:
        return {"high": f"must be at least low = {self.low:g}"} if self.high < self.low else {}


EXAMPLES = [Example("3 becomes 2", {"low": -1.0, "high": 2.0}, rewards(3.0, 0.5, -4.0),
                    {"advantage": [2.0, 0.5, -1.0]})]
