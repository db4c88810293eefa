"""After a group-centred estimator: pass more of a group's positive advantage to its better passing responses.

Differs from a quality reward: failing responses are untouched, and the sum over passing ones stays what it was.
Exact, with P the passing responses, f their factors in (0, 1] and A the incoming advantage: λ = Σ_P A / Σ_P
f·A, at most `cap`; A' = λ·f·A on P, A elsewhere; then minus the group's mean. A group without both outcomes, or
with a passing response that the grader gave no factor (0), keeps its advantage.
Source: MiMo-V2.6 technical report, groupwise advantage redistribution (GAR); the cap is unpublished.
"""

from __future__ import annotations

from rldsl.algebra.expr import GROUP, RESPONSE, Expr, both, gt, highest, lowest, mean, minimum, total, where
from rldsl.algebra.variables import CORRECT, QUALITY
from rldsl.axes.base import AdvantageStage
from rldsl.axes.choice import Example, rewards
from rldsl.axes.traits import CORRECTNESS, SIBLINGS
from rldsl.axes.types import Positive


class Quality(AdvantageStage):
    needs = {SIBLINGS, CORRECTNESS}
    cap: Positive | None = None  # largest λ; none is no bound

    def transform(self, advantage: Expr) -> Expr:
        advantage, passed = mean(advantage, RESPONSE), gt(CORRECT, 0.0)
        graded = where(passed, QUALITY * advantage, 0.0)
        factor = total(where(passed, advantage, 0.0), GROUP) / total(graded, GROUP)
        if self.cap is not None:
            factor = minimum(factor, self.cap)
        moved = where(passed, factor * graded, advantage)
        return where(self._applies(passed), moved - mean(moved, GROUP), advantage)

    def _applies(self, passed: Expr) -> Expr:
        mixed = gt(highest(passed, GROUP), lowest(passed, GROUP))
        return both(mixed, gt(lowest(where(passed, QUALITY, 1.0), GROUP), 0.0))


_rows = [{**r, "quality": f} for r, f in zip(rewards(1.0, 1.0, 0.0, 0.0), (1.0, 0.5, 0.0, 0.0), strict=True)]
EXAMPLES = [
    Example("factors 1 and 0.5: λ = 4/3", {}, _rows, {"advantage": [2 / 3, 1 / 3, -0.5, -0.5]},
            {"advantage": "group_mean"}),
    Example("λ held at 1, then centred", {"cap": 1.0}, _rows, {"advantage": [0.5625, 0.3125, -0.4375, -0.4375]},
            {"advantage": "group_mean"}),
    Example("a grader without an answer changes nothing", {}, [{**r, "quality": 0.0} for r in rewards(1.0, 0.0)],
            {"advantage": [0.5, -0.5]}, {"advantage": "group_mean"}),
]
