"""Cut each response's text into steps: at every occurrence of a text, or after every so many tokens.

Differs from a multi-turn environment: nothing is answered between two steps. `by` ends a step with the token that
completes the text; the text stays in the step. Where a step ends depends on nothing after it, so what continues it is a
sample of the policy. `unit: turn` gives the formulas of turns the same cuts.
Source: VinePPO (arXiv:2410.01679), section 4: reasoning steps are the lines or sentences of a solution.
"""

from __future__ import annotations

from typing import Literal

from rldsl.algebra.expr import ORDINAL, STEP, TURN
from rldsl.axes.choice import Example, tokens
from rldsl.axes.structure import Cut, Dividing
from rldsl.axes.traits import STEPS
from rldsl.axes.types import Tokens


class Steps(Dividing):
    positional = 1
    gives = {STEPS}
    by: str | None = None  # the text that ends a step
    every: Tokens | None = None  # tokens in a step
    unit: Literal["step", "turn"] = "step"  # what a step is called in formulas

    def divides(self) -> frozenset[str]:
        return frozenset({STEP} if self.unit == "step" else {TURN, ORDINAL})

    def cut(self) -> Cut:
        return Cut(self.by, self.every, self.unit)

    def check(self) -> dict[str, str]:
        if (self.by is None) == (self.every is None):
            return {"by": "or `every` must be given, and not both"}
        return {"by": "must not be empty"} if self.by == "" else {}


EXAMPLES = [
    Example("two steps, of two tokens and of one", {"every": 2}, [tokens(4.0, 1.0, 3.0, steps=[0, 0, 1])],
            {"ratio": [[2.0, 2.0, 3.0]]}, {"ratio": "step(current / old)"}),
    Example("the same as turns", {"every": 2, "unit": "turn"}, [tokens(4.0, 1.0, 3.0, turns=[0, 0, 1])],
            {"ratio": [[2.0, 2.0, 3.0]]}, {"ratio": "turn(current / old)"}),
]
