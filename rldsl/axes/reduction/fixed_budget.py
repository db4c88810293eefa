"""Sum over tokens, divided by a constant: responses × a fixed length.

Differs from `response_mean`: a response's own length never enters, so long wrong answers are not diluted.
Source: Dr. GRPO (arXiv:2503.20783), section 3.2 and listing 1 (length is the sampler's `max_tokens`).
"""

from __future__ import annotations

from rldsl.algebra.expr import UPDATE, Expr, total
from rldsl.algebra.variables import MAX_TOKENS, RESPONSES
from rldsl.axes.base import Reduction
from rldsl.axes.choice import Example, tokens
from rldsl.axes.traits import LENGTH_LIMIT, TOKEN_WEIGHTED
from rldsl.axes.types import Tokens


class FixedBudget(Reduction):
    gives = {TOKEN_WEIGHTED}
    decided_by = {LENGTH_LIMIT: "length"}
    length: Tokens | None = None  # tokens in the denominator per response; none is the sampler's max_tokens

    @property
    def needs(self) -> frozenset:
        return frozenset({LENGTH_LIMIT} if self.length is None else ())

    def weight(self, live: Expr) -> Expr:
        budget = MAX_TOKENS if self.length is None else float(self.length)
        return live / (total(RESPONSES * live, UPDATE) * budget)


_rows = [tokens(*[1] * n) for n in (1, 3)]
EXAMPLES = [Example("two responses of a budget of 10", {"length": 10}, _rows, {"weight": [0.05, 0.05]})]
