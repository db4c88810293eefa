"""The return of a response that a limit cut is what the critic expects, not the score of what is there.

Differs from `drop_truncated`: the response stays in the loss, with V(s_T) in place of its score. V before the last
token stands for V(s_T): the critic values states before action tokens.
Source: Step 3.5 Flash technical report, truncation-aware value bootstrapping.
"""

from __future__ import annotations

from rldsl.algebra.expr import RESPONSE, Expr, gt, total, where
from rldsl.algebra.variables import LAST, SCORES, TRUNCATED, VALUE
from rldsl.axes.base import Shaping
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import TRUNCATION_RULE, VALUES


class BootstrapTruncated(Shaping):
    needs = {VALUES}
    gives = {TRUNCATION_RULE}

    def shape(self) -> Expr:
        return where(gt(TRUNCATED, 0.0), total(LAST * VALUE, RESPONSE) - SCORES, 0.0)


_rows = [tokens(1, 1, reward=r, truncated=cut, values=[0.2, 0.7]) for r, cut in ((0.0, True), (1.0, False))]
EXAMPLES = [Example("V before the last token is 0.7", {}, _rows, {"reward": [0.7, 1.0]}, {"advantage": "gae"})]
