"""Mean over responses of a term that has one value per response.

Differs from `response_mean` only in what it accepts: a response-grain term (a sequence ratio), whose value is counted
once however long the response is. w = 1/(N·T_i) on each of its tokens.
Source: GSPO (arXiv:2507.18071), equation 5.
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, total
from rldsl.algebra.variables import LENGTH, RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import RESPONSE_TERM


class SequenceMean(Reduction):
    needs = {RESPONSE_TERM}

    def weight(self, live: Expr) -> Expr:
        return live / (total(RESPONSES * live, UPDATE) * LENGTH)


_rows = [tokens(*[1] * n, reward=r) for n, r in ((2, 1.0), (4, -1.0))]
EXAMPLES = [Example("lengths do not weigh", {}, _rows, {"objective": 0.0, "weight": [0.25, 0.125]},
                    {"ratio": "sequence(current / old)"})]
